//! `oriole init-shadow`: a folder that stands for a toolkit, with an nvcc that finds Oriole where it looks for ptxas. The
//! toolkit itself stays as it is.

use crate::arguments::InitShadow;
use crate::files::FileError;
use crate::outcome::{Outcome, failed, print};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Makes the folder.
pub fn init_shadow(arguments: &InitShadow) -> Outcome {
    match make(&arguments.folder, &arguments.cuda) {
        Ok(nvcc) => print(&format!("{nvcc}\n")),
        Err(message) => failed(message),
    }
}

/// Why there is no shadow toolkit.
#[derive(Debug, thiserror::Error)]
enum ShadowError {
    /// The toolkit cannot be read.
    #[error("{}: {error}; say with --cuda where the toolkit is", folder.display())]
    Toolkit {
        /// Its folder.
        folder: PathBuf,
        /// The reason.
        error: io::Error,
    },
    /// It has no nvcc.
    #[error("there is no {}; say with --cuda where the toolkit is", .0.display())]
    NoCompiler(PathBuf),
    /// The new folder cannot be filled.
    #[error(transparent)]
    File(#[from] FileError),
}

/// Makes `bin` with nvcc, its profile and our ptxas, and links to the rest of the toolkit; gives the path of nvcc.
///
/// # Errors
/// There is no toolkit, and then nothing is made; or the folder cannot be filled.
fn make(folder: &Path, cuda: &Path) -> Result<String, ShadowError> {
    let of_toolkit = |error| ShadowError::Toolkit { folder: cuda.to_owned(), error };
    let toolkit = cuda.canonicalize().map_err(of_toolkit)?;
    let nvcc = toolkit.join("bin/nvcc");
    if !nvcc.is_file() {
        return Err(ShadowError::NoCompiler(nvcc));
    }
    let profile = fs::read_to_string(toolkit.join("bin/nvcc.profile")).map_err(of_toolkit)?;
    Ok(fill(folder, &toolkit, &profile).map_err(FileError::of(folder))?)
}

/// Fills the folder with what stands for a toolkit.
fn fill(folder: &Path, cuda: &Path, profile: &str) -> io::Result<String> {
    let bin = folder.join("bin");
    fs::create_dir_all(&bin)?;
    let bin = bin.canonicalize()?;
    if bin == cuda.join("bin") {
        return Err(io::Error::other("this is the toolkit itself; name another folder"));
    }
    fs::write(bin.join("nvcc.profile"), shadowed(profile, cuda, &bin))?;
    // nvcc looks for some of its files in its own folder.
    for entry in fs::read_dir(cuda.join("bin"))? {
        let entry = entry?;
        if entry.file_name() != "nvcc.profile" && entry.file_name() != "ptxas" {
            link(&entry.path(), &bin.join(entry.file_name()))?;
        }
    }
    link(&std::env::current_exe()?, &bin.join("ptxas"))?;
    // clang is given the folder as a whole and looks for headers and bitcode in it; nvcc reads in its profile where they are.
    #[cfg(unix)]
    for entry in fs::read_dir(cuda)? {
        let entry = entry?;
        if entry.file_name() != "bin" {
            link(&entry.path(), &folder.join(entry.file_name()))?;
        }
    }
    Ok(bin.join("nvcc").display().to_string())
}

/// The toolkit's profile for another folder: everything is where it was, and our folder comes first in the search path.
fn shadowed(profile: &str, cuda: &Path, bin: &Path) -> String {
    let (cuda, bin) = (cuda.display().to_string(), bin.display().to_string());
    let line = |line: &str| {
        let Some((name, value)) = line.split_once('=') else { return format!("{line}\n") };
        let value = value.replace("$(_HERE_)", &format!("{cuda}/bin"));
        match name.trim_end_matches([' ', '\t', '+']) {
            "TOP" => format!("{name}={}\n", cuda),
            "PATH" => format!("{name}= {bin}:{}\n", value.trim_start()),
            _ => format!("{name}={value}\n"),
        }
    };
    profile.lines().map(line).collect()
}

/// Makes a link anew.
fn link(target: &Path, path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    #[cfg(unix)]
    return std::os::unix::fs::symlink(target, path);
    #[cfg(not(unix))]
    return fs::copy(target, path).map(drop);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(unix)]
    fn the_folder_stands_for_the_toolkit_and_is_never_the_toolkit() {
        let place = tempfile::tempdir().expect("a folder");
        let (cuda, shadow) = (place.path().join("cuda"), place.path().join("shadow"));
        fs::create_dir_all(cuda.join("bin")).expect("a folder");
        fs::create_dir_all(cuda.join("include")).expect("a folder");
        for (name, text) in [("bin/nvcc", "nvcc"), ("bin/nvcc.profile", ""), ("bin/ptxas", "theirs")] {
            fs::write(cuda.join(name), text).expect("a file");
        }
        fs::write(cuda.join("include/cuda.h"), "theirs").expect("a file");
        make(&cuda, &cuda).expect_err("the toolkit is left alone");
        // Once more over what is there already.
        for _ in 0..2 {
            make(&shadow, &cuda).expect("a shadow");
        }
        let (nothing, none) = (place.path().join("nothing"), place.path().join("none"));
        let message = make(&none, &nothing).expect_err("there is no toolkit").to_string();
        assert!(message.starts_with(&nothing.display().to_string()) && !none.exists(), "{message}");
        let is_theirs = |path: &str| fs::read(shadow.join(path)).is_ok_and(|text| text == b"theirs");
        assert!(is_theirs("include/cuda.h") && !is_theirs("bin/ptxas"));
        assert_eq!(fs::read(cuda.join("bin/ptxas")).expect("it is there"), b"theirs");
    }

    #[test]
    fn the_search_path_begins_with_our_folder() {
        let profile = "TOP              = $(_HERE_)/..\n\nPATH            += $(CICC_PATH):$(_HERE_):\nINCLUDES += \"-I$(TOP)/x\"\n";
        let changed = shadowed(profile, Path::new("/cuda"), Path::new("/s/bin"));
        assert_eq!(
            changed,
            "TOP              =/cuda\n\nPATH            += /s/bin:$(CICC_PATH):/cuda/bin:\nINCLUDES += \"-I$(TOP)/x\"\n"
        );
    }
}
