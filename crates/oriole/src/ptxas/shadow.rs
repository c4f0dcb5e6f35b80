//! `oriole init-shadow`: a folder with an nvcc that finds Oriole where it looks for ptxas. The toolkit stays as it is.

use crate::arguments::InitShadow;
use crate::outcome::{Outcome, failed, print};
use std::fs;
use std::io;
use std::path::Path;

/// Makes the folder.
pub fn init_shadow(arguments: &InitShadow) -> Outcome {
    match make(&arguments.folder, &arguments.cuda) {
        Ok(nvcc) => print(&format!("{nvcc}\n")),
        Err(error) => failed(&format!("{}: {error}", arguments.folder.display())),
    }
}

/// Makes `bin` with nvcc, its profile and our ptxas; gives the path of nvcc.
fn make(folder: &Path, cuda: &Path) -> io::Result<String> {
    let cuda = cuda.canonicalize()?;
    let nvcc = cuda.join("bin/nvcc");
    if !nvcc.is_file() {
        return Err(io::Error::other(format!(
            "there is no {}; say with --cuda where the toolkit is",
            nvcc.display()
        )));
    }
    let bin = folder.join("bin");
    fs::create_dir_all(&bin)?;
    let bin = bin.canonicalize()?;
    let profile = fs::read_to_string(cuda.join("bin/nvcc.profile"))?;
    fs::write(bin.join("nvcc.profile"), shadowed(&profile, &cuda, &bin))?;
    // nvcc looks for some of its files beside itself.
    for entry in fs::read_dir(cuda.join("bin"))? {
        let entry = entry?;
        if entry.file_name() != "nvcc.profile" && entry.file_name() != "ptxas" {
            link(&entry.path(), &bin.join(entry.file_name()))?;
        }
    }
    link(&std::env::current_exe()?, &bin.join("ptxas"))?;
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
    fn the_search_path_begins_with_our_folder() {
        let profile = "TOP              = $(_HERE_)/..\n\nPATH            += $(CICC_PATH):$(_HERE_):\nINCLUDES += \"-I$(TOP)/x\"\n";
        let changed = shadowed(profile, Path::new("/cuda"), Path::new("/s/bin"));
        assert_eq!(
            changed,
            "TOP              =/cuda\n\nPATH            += /s/bin:$(CICC_PATH):/cuda/bin:\nINCLUDES += \"-I$(TOP)/x\"\n"
        );
    }
}
