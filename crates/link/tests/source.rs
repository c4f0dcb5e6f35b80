//! Facts that only the source of a function has.

use oriole_hir::Parameter;
use oriole_link::source::prototype;
use oriole_ptx::Type;

#[test]
fn prototypes_tell_types_of_results_first() {
    let one = |ty, length| Parameter { ty, length, align: 4, offset: 0, pointer: None, in_register: false };
    let list = [one(Type::F32, None), one(Type::B64, None), one(Type::B8, Some(6)), one(Type::F64, None)];
    assert_eq!(prototype(&[one(Type::F32, None)], &list), "#fflb6d");
    assert_eq!(prototype(&[], &[one(Type::U32, None)]), "#vi");
    assert_eq!(prototype(&[], &[]), "#v");
}
