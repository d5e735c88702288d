//! Crates that tests write and cargo builds: in the target folder of the tests, with this workspace's lock file and one profile,
//! so that what they depend on is built once for all of them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What such crates depend on is built for them alone, as cargo does for any other workspace, and runs once: building it is all
/// its time.
const PROFILE: &str = "
[profile.dev]
debug = false

[profile.dev.package.\"*\"]
debug-assertions = false
overflow-checks = false
";

/// The folder of a workspace of this name.
pub(crate) fn workspace(name: &str) -> PathBuf {
    let workspace = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&workspace).expect("the folder is made");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = format!("[workspace]\nresolver = \"3\"\nmembers = [\"*\"]\n{PROFILE}");
    fs::write(workspace.join("Cargo.toml"), manifest).expect("the manifest is written");
    fs::copy(root.join("Cargo.lock"), workspace.join("Cargo.lock")).expect("the lock file is copied");
    workspace
}

/// The folder of the sources of a member that depends on fx, and on `dependencies`, lines of a manifest.
pub(crate) fn member(workspace: &Path, name: &str, dependencies: &str) -> PathBuf {
    let sources = workspace.join(name).join("src");
    fs::create_dir_all(&sources).expect("the folder is made");
    let fx = env!("CARGO_MANIFEST_DIR");
    let manifest = format!(
        "[package]\nname = {name:?}\nversion = \"0.1.0\"\nedition = \"2024\"\n\n[dependencies]\nfx = {{ path = {fx:?} }}\n{dependencies}"
    );
    fs::write(workspace.join(name).join("Cargo.toml"), manifest).expect("the manifest is written");
    sources
}

/// Runs cargo, which must succeed without warnings about what was generated; gives what it prints.
#[track_caller]
pub(crate) fn cargo(workspace: &Path, arguments: &[&str]) -> String {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("tmp lies in the target folder");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(arguments).args(["--offline", "--quiet"]).current_dir(workspace).env("CARGO_TARGET_DIR", target);
    let output = command.output().expect("cargo starts");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !errors.contains("generated"), "{errors}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
