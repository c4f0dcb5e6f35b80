//! The shape of trees: grouping and error recovery.

use expect_test::{Expect, expect};
use oriole_syntax::ast::{AstNode, DeclarationHead, InitializerList, ListValue, Operand, Statement};
use oriole_syntax::{NodeOrToken, NodeRef, SyntaxKind, UnitKind, parse_unit};

/// Nodes in parentheses, tokens by their text.
fn shape(node: NodeRef<'_>) -> String {
    let mut out = format!("({:?}", node.kind()).to_lowercase();
    for child in node.children_with_tokens() {
        match child {
            NodeOrToken::Node(node) => out += &format!(" {}", shape(node)),
            NodeOrToken::Token(token) if token.kind().is_trivia() => {}
            NodeOrToken::Token(token) => out += &format!(" {}", token.text()),
        }
    }
    out + ")"
}

fn statements(body: &str, expected: Expect) {
    let text = format!(".entry k {{\n{body}\n}}");
    let parse = parse_unit(UnitKind::Entry, &text);
    let block = parse.unit().function().unwrap().body().unwrap();
    let mut out: String = block.syntax().children().map(|child| shape(child) + "\n").collect();
    for error in &parse.errors {
        out += &format!("{error}\n");
    }
    expected.assert_eq(&out);
}

#[test]
fn operands() {
    statements(
        "a 1 + 2 * 3 << 1 == 4 && 1 ? -2 : (.s64)~3;
         b p|q, _|p, {x, _}|p, 1 | 2, !p, (1|2)+3;
         c [a+-4], [t, s, {x, y}].unified, v.x, tab[2*3], tab+8, [g+4-2];",
        expect![[r#"
            (instruction (opcode a) (operand_list (ternary (binary (binary (binary (binary (literal 1) + (binary (literal 2) * (literal 3))) << (literal 1)) == (literal 4)) && (literal 1)) ? (prefix - (literal 2)) : (cast ( .s64 ) (prefix ~ (literal 3))))) ;)
            (instruction (opcode b) (operand_list (pair (name p) | (name q)) , (pair (sink _) | (name p)) , (pair (vector { (name x) , (sink _) }) | (name p)) , (binary (literal 1) | (literal 2)) , (prefix ! (name p)) , (binary (paren ( (binary (literal 1) | (literal 2)) )) + (literal 3))) ;)
            (instruction (opcode c) (operand_list (address [ (binary (name a) + (prefix - (literal 4))) ]) , (address [ (name t) , (name s) , (vector { (name x) , (name y) }) ] .unified) , (member (name v) .x) , (index (name tab) [ (binary (literal 2) * (literal 3)) ]) , (binary (name tab) + (literal 8)) , (address [ (binary (binary (name g) + (literal 4)) - (literal 2)) ])) ;)
        "#]],
    );
}

#[test]
fn statements_of_every_kind() {
    statements(
        "L: M: @!p bra L; { .reg .b32 %r<4>, x; }
         t: .branchtargets L, M; f: .calltargets g;
         c: .callprototype (.param .b32 _) _ (.reg .b64 _) .noreturn;
         call (r), g, (1, p), c; .loc 1 2 3, function_name s+4, inlined_at 1 4 5
         .pragma \"x\"; .shared .align 8 .b8 s[2][];",
        expect![[r#"
            (label L :)
            (label M :)
            (instruction (guard @ ! p) (opcode bra) (operand_list (name L)) ;)
            (block { (variable .reg .b32 (declarator %r (register_range < 4 >)) , (declarator x) ;) })
            (branch_targets (label t :) .branchtargets (name L) , (name M) ;)
            (call_targets (label f :) .calltargets (name g) ;)
            (call_prototype (label c :) .callprototype (return_list ( (parameter .param .b32 (declarator _)) )) _ (parameter_list ( (parameter .reg .b64 (declarator _)) )) (performance_directive .noreturn) ;)
            (instruction (opcode call) (operand_list (argument_list ( (name r) )) , (name g) , (argument_list ( (literal 1) , (name p) )) , (name c)) ;)
            (loc_directive .loc 1 2 3 , (inlined_at function_name s + 4 , inlined_at 1 4 5))
            (pragma .pragma "x" ;)
            (variable .shared (align_clause .align (literal 8)) .b8 (declarator s (dimension [ (literal 2) ]) (dimension [ ])) ;)
        "#]],
    );
}

#[test]
fn one_slip_one_report() {
    statements(
        "add.u32 r, a, b\nsub.u32 r, a, b;\nadd.u32 r, , b;\nadd u32 r, b;\n add.u32\nret;\n.foo 3;\n.reg .b32 ;\n @!!p ret;\nret; ) ret;",
        expect![[r#"
            (instruction (opcode add .u32) (operand_list (name r) , (name a) , (name b)))
            (instruction (opcode sub .u32) (operand_list (name r) , (name a) , (name b)) ;)
            (instruction (opcode add .u32) (operand_list (name r) , , (name b)) ;)
            (instruction (opcode add) (operand_list (name u32)) (error r , b ;))
            (instruction (opcode add .u32) (operand_list (name ret)) ;)
            (error .foo 3 ;)
            (variable .reg .b32 ;)
            (instruction (guard @ !) (error ! p ret ;))
            (instruction (opcode ret) ;)
            (error ) ret ;)
            error[ptx::syntax] 27..30: `;` expected before `sub`
            error[ptx::syntax] 55..56: an operand expected, found `,`
            error[ptx::syntax] 68..69: `;` expected, found `r`
            error[ptx::unknown-directive] 88..92: `.foo` is no directive of a function body
            error[ptx::syntax] 106..107: a name expected, found `;`
            error[ptx::syntax] 111..112: a predicate register expected, found `!`
            error[ptx::syntax] 124..125: a statement expected, found `)`
        "#]],
    );
}

#[test]
fn functions_and_variables() {
    let text =
        ".visible .func (.param .b32 r) f(.param .u64 .ptr .global .align 8 p, .param .align 16 .b8 s[4])
        .maxntid 1, 2 .noreturn;
        .weak .const[2] .align 4 .v2 .f32 x[] = {{1, 2}, -3}, y;";
    let parse = parse_unit(UnitKind::Header, text);
    assert_eq!(parse.errors, []);
    let function = parse.unit().function().unwrap();
    assert!(!function.is_entry() && function.body().is_none());
    assert_eq!(function.name().unwrap().text(), "f");
    assert_eq!(function.linkage().len(), 1);
    assert_eq!(function.results().count(), 1);
    let heads: Vec<_> = function
        .parameters()
        .map(|parameter| {
            let word =
                |token: Option<oriole_syntax::TokenRef<'_>>| token.map(|token| token.text().to_owned());
            let pointer = parameter.ptr().and_then(|ptr| word(ptr.space()));
            (
                word(parameter.space()),
                word(parameter.type_word()),
                pointer,
                parameter.declarator().unwrap().text(),
            )
        })
        .collect();
    expect![[r#"
        [
            (
                Some(
                    ".param",
                ),
                Some(
                    ".u64",
                ),
                Some(
                    ".global",
                ),
                "p",
            ),
            (
                Some(
                    ".param",
                ),
                Some(
                    ".b8",
                ),
                None,
                "s[4]",
            ),
        ]
    "#]]
    .assert_debug_eq(&heads);
    let directives: Vec<_> = function
        .performance_directives()
        .map(|directive| (directive.word().unwrap().text().to_owned(), directive.values().count()))
        .collect();
    assert_eq!(directives, [(".maxntid".to_owned(), 2), (".noreturn".to_owned(), 0)]);
    let variable = parse.unit().variable().unwrap();
    assert_eq!(variable.type_word().unwrap().text(), ".f32");
    assert_eq!(variable.vector().unwrap().text(), ".v2");
    assert_eq!(variable.declarators().count(), 2);
    assert_eq!(variable.bank().unwrap().number().unwrap().text(), "2");
}

#[test]
fn instruction_access() {
    let parse = parse_unit(UnitKind::Entry, ".entry k { @!%p1 add/*x*/.rn .f32 a, b, 0x10U; }");
    let block = parse.unit().function().unwrap().body().unwrap();
    let Some(Statement::Instruction(instruction)) = block.statements().next() else { panic!() };
    let guard = instruction.guard().unwrap();
    assert!(guard.negated() && guard.register().unwrap().text() == "%p1");
    assert_eq!(instruction.opcode().unwrap().spelling(), "add.rn.f32");
    let Some(Operand::Literal(literal)) = instruction.operands().nth(2) else { panic!() };
    assert!(matches!(
        literal.number(),
        Ok(oriole_syntax::NumberValue::Integer { bits: 16, unsigned: true, .. })
    ));
    assert_eq!(instruction.span(), oriole_diagnostics::Span::between(11, 46));
}

#[test]
fn runs_of_numbers_are_one_token() {
    let text = ".const .b32 x[] = {1, 0x2U,\n .5, -4, 5, {6}, {7, 0f3f800000}, 8+1, 9, 10, 0xff(x), 11 /**/, 12, 13,};";
    let parse = parse_unit(UnitKind::Variable, text);
    expect![[r#"
        (unit (variable .const .b32 (declarator x (dimension [ ]) (initializer = (initializer_list { 1, 0x2U,
         .5 , (prefix - (literal 4)) , (literal 5) , (initializer_list { (literal 6) }) , (initializer_list { 7, 0f3f800000 }) , (binary (literal 8) + (literal 1)) , 9, 10 , (call_expression (literal 0xff) ( (name x) )) , (literal 11) , 12, 13 , }))) ;))"#]]
    .assert_eq(&shape(parse.syntax()));
    let list = parse.syntax().descendants().find_map(InitializerList::cast).unwrap();
    let texts: Vec<&str> = list
        .values()
        .map(|value| {
            let span = value.span();
            if let ListValue::Number(number) = value {
                assert_eq!(number.text(), &text[span.start as usize..span.end() as usize]);
            }
            text[span.start as usize..span.end() as usize].trim()
        })
        .collect();
    let values = ["1", "0x2U", ".5", "-4", "5", "{6}", "{7, 0f3f800000}", "8+1", "9", "10", "0xff(x)"];
    assert_eq!(texts[..values.len()], values);
    // An error in a number is reported as anywhere else, and the numbers around it are one token all the same.
    let parse = parse_unit(UnitKind::Variable, ".const .b32 x[] = {1, 2, 089, 3, 4};");
    let errors: Vec<_> =
        parse.errors.iter().map(|error| (error.span.start, error.message.to_string())).collect();
    let octal = "a literal that begins with 0 is octal and has the digits 0 to 7 only";
    assert_eq!(errors, [(25, octal.to_owned())]);
    assert_eq!(parse.syntax().descendants().filter(|node| node.kind() == SyntaxKind::LITERAL).count(), 1);
}
