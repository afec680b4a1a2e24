// SPDX-License-Identifier: MIT
//! Finds libmemtracer: in MEMTRACER_LIB_DIR, else where pkg-config says. No crate is needed.
use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-env-changed=MEMTRACER_LIB_DIR");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    if let Ok(folder) = env::var("MEMTRACER_LIB_DIR") {
        println!("cargo:rustc-link-search=native={folder}");
        println!("cargo:rustc-link-lib=memtracer");
        return;
    }
    let found = Command::new("pkg-config").args(["--libs", "memtracer"]).output();
    match found {
        Ok(answer) if answer.status.success() => link(&String::from_utf8_lossy(&answer.stdout)),
        _ => panic!("pkg-config does not find memtracer: install it, or set MEMTRACER_LIB_DIR"),
    }
}

fn link(flags: &str) {
    for flag in flags.split_whitespace() {
        if let Some(folder) = flag.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={folder}");
        } else if let Some(library) = flag.strip_prefix("-l") {
            println!("cargo:rustc-link-lib={library}");
        }
    }
}
