//! Results of stages that fail or panic, and the places of their diagnostics.

use oriole_diagnostics::{Code, Span};
use oriole_hir::SourceMap;
use oriole_queries::Failed;
use oriole_queries::failure::{Refusal, guarded};
use std::panic::{catch_unwind, resume_unwind};

#[test]
fn a_panic_becomes_a_value_and_cancellation_does_not() {
    let quiet = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let failed = guarded::<()>("stage", || panic!("number {}", 7)).unwrap_err();
    let cancelled =
        catch_unwind(|| guarded::<()>("stage", || resume_unwind(Box::new(salsa::Cancelled::Local))));
    std::panic::set_hook(quiet);
    assert_eq!(failed, Failed::internal("stage", "number 7"));
    assert!(cancelled.unwrap_err().is::<salsa::Cancelled>());
}

#[test]
fn a_failure_finds_its_statement() {
    let map =
        SourceMap { name: Span::new(7, 1), instructions: vec![Span::new(20, 4)], ..SourceMap::default() };
    let failed = |statement| Failed::Stage { code: Code::NotSupported, statement, message: "x".to_owned() };
    assert_eq!(failed(Some(0)).diagnostics(&map)[0].span, Span::new(20, 4));
    assert_eq!(failed(Some(9)).diagnostics(&map)[0].span, Span::new(7, 1));
    assert_eq!(Failed::Diagnosed.diagnostics(&map), []);
}

#[test]
fn each_refusal_is_a_diagnostic() {
    let map = SourceMap {
        name: Span::new(7, 1),
        instructions: vec![Span::new(20, 4), Span::new(30, 4)],
        ..SourceMap::default()
    };
    let refusal = |statement, message: &str, count| Refusal {
        code: Code::NotSupported,
        statement: Some(statement),
        message: message.to_owned(),
        count,
    };
    let found = Failed::Refused(vec![refusal(0, "x", 3), refusal(1, "y", 1)]).diagnostics(&map);
    let told: Vec<(Span, String)> = found.iter().map(|it| (it.span, it.message.to_string())).collect();
    let first = "x (here and in 2 more places of this function)".to_owned();
    assert_eq!(told, [(Span::new(20, 4), first), (Span::new(30, 4), "y".to_owned())]);
}
