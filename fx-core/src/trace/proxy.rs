//! Proxies: values that record what is done to them.

use std::fmt;
use std::rc::Rc;

use super::session::Session;
use crate::arg::Arg;
use crate::error::{Error, ErrorKind, Result};
use crate::graph::NodeId;
use crate::value::{Call, Value};

/// A value in a trace: a node of the graph that is being recorded.
#[derive(Clone)]
pub struct Proxy(pub(super) Kind);

#[derive(Clone)]
pub(super) enum Kind {
    Node(NodeId, Rc<Session>),
    /// What stands for the result of a call that failed.
    Failed,
}

impl Proxy {
    pub(super) fn new(id: NodeId, session: &Rc<Session>) -> Self {
        Self(Kind::Node(id, Rc::clone(session)))
    }

    /// The node, unless the call that should have made it failed.
    pub fn node(&self) -> Option<NodeId> {
        match &self.0 {
            Kind::Node(id, _) => Some(*id),
            Kind::Failed => None,
        }
    }

    pub(super) fn session(&self) -> Option<&Rc<Session>> {
        match &self.0 {
            Kind::Node(_, session) => Some(session),
            Kind::Failed => None,
        }
    }

    fn failed() -> Self {
        Self(Kind::Failed)
    }
}

impl Value for Proxy {
    fn apply(call: Call<'_, Self>) -> Result<Arg<Self>> {
        let mut failed = false;
        let mut first: Option<Rc<Session>> = None;
        let mut mixed = false;
        call.for_each_value(|proxy| match (proxy.session(), &first) {
            (None, _) => failed = true,
            (Some(session), None) => first = Some(Rc::clone(session)),
            (Some(session), Some(first)) => mixed |= !Rc::ptr_eq(session, first),
        });
        if failed {
            return Ok(Arg::Value(Proxy::failed()));
        }
        let location = call.location;
        let session = match Session::current() {
            Some(current) if !mixed && first.as_ref().is_none_or(|first| Rc::ptr_eq(first, &current)) => current,
            Some(_) => {
                return Err(Error::new(ErrorKind::Trace, "values of two traces are mixed in one call")
                    .help("a value belongs to the trace that made it and cannot be used in another")
                    .at_caller(location));
            }
            None => {
                return Err(Error::new(ErrorKind::Trace, "this would be recorded, but no trace is running")
                    .help("use proxies only within the function that is being traced")
                    .at_caller(location));
            }
        };
        session.record(call).map_err(|error| error.at_caller(location))
    }

    #[track_caller]
    fn fail(error: Error) -> Self {
        match Session::current() {
            Some(session) => session.note(error),
            None => panic!("{error}"),
        }
        Proxy::failed()
    }
}

impl fmt::Debug for Proxy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Node(id, session) => write!(f, "Proxy({})", session.name_of(*id)),
            Kind::Failed => f.write_str("Proxy(failed)"),
        }
    }
}
