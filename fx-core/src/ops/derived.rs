//! Methods that are compositions, or that give a row another form than its arguments have.
