// The grammar of PTX for tree-sitter: the shape of statements, not their meaning. Opcodes and directives are words, so that a
// new instruction needs no change here; which of them exist is known to the compiler alone.

const commaSeparated = (rule) => optional(commaSeparated1(rule));
const commaSeparated1 = (rule) => seq(rule, repeat(seq(',', rule)));

// From the loosest to the tightest, as in C.
const BINARY = [
  ['||'], ['&&'], ['|'], ['^'], ['&'], ['==', '!='], ['<', '<=', '>', '>='], ['<<', '>>'], ['+', '-'], ['*', '/', '%'],
];
const UNARY = BINARY.length + 2;

module.exports = grammar({
  name: 'ptx',

  // Programs pass texts that end with NUL bytes.
  extras: ($) => [/[\s\x00]/, $.comment, $.line_marker],

  conflicts: ($) => [[$.parenthesized, $.arguments]],

  rules: {
    source_file: ($) => repeat($._item),

    _item: ($) =>
      choice(
        $.version, $.target, $.address_size, $.file, $.location, $.pragma, $.alias, $.section,
        $.function, $.variable, ';',
      ),

    comment: () => token(choice(seq('//', /[^\n]*/), seq('/*', /[^*]*\*+([^/*][^*]*\*+)*/, '/'))),
    line_marker: () => token(seq('#', /[^\n]*/)),

    // ---- directives that end without a semicolon

    version: ($) => seq('.version', $.number),
    target: ($) => seq('.target', commaSeparated1($.identifier)),
    address_size: ($) => seq('.address_size', $.number),
    file: ($) => prec.right(seq('.file', $.number, $.string, repeat(seq(',', $.number)))),
    location: ($) =>
      prec.right(
        seq(
          '.loc', $.number, $.number, $.number,
          optional(seq(
            ',', 'function_name', $._expression,
            ',', 'inlined_at', $.number, $.number, $.number,
          )),
        ),
      ),

    section: ($) => seq('.section', field('name', choice($.word, $.identifier)), '{', repeat($._data), '}'),
    _data: ($) => choice($.label, $.data),
    data: ($) => prec.right(seq(field('kind', $.word), commaSeparated1(choice($.word, $.word_offset, $._expression)))),

    word_offset: ($) => seq($.word, choice("+", "-"), $._expression),

    // ---- items with a semicolon or a body

    pragma: ($) => seq('.pragma', commaSeparated1($.string), ';'),
    alias: ($) => seq('.alias', field('name', $.identifier), ',', field('function', $.identifier), ';'),

    function: ($) =>
      seq(
        repeat($._attribute),
        field('kind', choice('.entry', '.func')),
        repeat($.function_attribute),
        optional(field('results', $.parameters)),
        field('name', $.identifier),
        optional(field('parameters', $.parameters)),
        repeat(choice($.function_attribute, $.pragma)),
        choice(field('body', $.block), ';'),
      ),
    function_attribute: ($) => choice($.attribute_list, prec.right(seq($.word, commaSeparated($.number)))),
    parameters: ($) => seq('(', commaSeparated($.parameter), ')'),
    parameter: ($) => seq(repeat1($._attribute), $.declarator),

    variable: ($) => seq(repeat1($._attribute), commaSeparated1($.declarator), ';'),
    declarator: ($) =>
      seq(
        field('name', choice($.identifier, $.sink)),
        optional($.range),
        repeat($.dimension),
        optional(seq('=', field('value', $._expression))),
      ),
    range: ($) => seq('<', $.number, '>'),
    dimension: ($) => seq('[', optional($._expression), ']'),

    _attribute: ($) => choice($.word, $.alignment, $.attribute_list),
    alignment: ($) => seq('.align', $.number),
    attribute_list: ($) => seq('.attribute', '(', commaSeparated1(seq($.word, optional($.arguments))), ')'),

    // ---- bodies

    block: ($) => seq('{', repeat($._statement), '}'),
    _statement: ($) =>
      choice(
        $.block, $.label, $.instruction, $.variable, $.location, $.file, $.pragma, $.targets, $.prototype, ';',
      ),
    label: ($) => seq(field('name', $.identifier), ':'),
    targets: ($) => seq(choice('.branchtargets', '.calltargets'), commaSeparated1($._expression), ';'),
    prototype: ($) =>
      seq(
        '.callprototype', optional($.parameters), choice($.sink, $.identifier), optional($.parameters),
        repeat($.function_attribute), ';',
      ),

    instruction: ($) =>
      seq(optional($.guard), field('opcode', $.opcode), optional(field('operands', $.operands)), ';'),
    guard: ($) => seq('@', optional('!'), $.identifier),
    opcode: ($) => seq(field('name', $.identifier), repeat($.modifier)),
    modifier: () => token(prec(1, /\.[A-Za-z0-9_]+(::[A-Za-z0-9_]+)*/)),
    operands: ($) => commaSeparated1($._expression),

    // ---- operands and constant expressions

    _expression: ($) =>
      choice(
        $.identifier, $.sink, $.number, $.string, $.member, $.index, $.address, $.vector, $.arguments, $.parenthesized,
        $.call, $.cast, $.unary, $.binary, $.ternary,
      ),
    sink: () => '_',
    member: ($) => seq($.identifier, alias(token.immediate(/\.[A-Za-z_][A-Za-z0-9_]*/), $.component)),
    index: ($) => prec(UNARY + 1, seq($.identifier, '[', commaSeparated1($._expression), ']')),
    address: ($) => seq('[', commaSeparated1($._expression), ']'),
    vector: ($) => seq('{', commaSeparated($._expression), '}'),
    parenthesized: ($) => seq('(', $._expression, ')'),
    arguments: ($) => seq('(', commaSeparated($._expression), ')'),
    call: ($) => prec(UNARY + 1, seq(choice($.identifier, $.number), $.arguments)),
    cast: ($) => prec(UNARY, seq('(', $.word, ')', $._expression)),
    unary: ($) => prec(UNARY, seq(choice('-', '+', '!', '~'), $._expression)),
    binary: ($) =>
      choice(
        ...BINARY.flatMap((operators, level) =>
          operators.map((operator) => prec.left(level + 2, seq($._expression, operator, $._expression))),
        ),
      ),
    ternary: ($) => prec.right(1, seq($._expression, '?', $._expression, ':', $._expression)),

    // ---- words

    word: () => /\.[A-Za-z0-9_]+(::[A-Za-z0-9_]+)*/,
    identifier: () => /[A-Za-z][A-Za-z0-9_$]*|[_$%][A-Za-z0-9_$]+/,
    number: () =>
      token(
        choice(
          /0[fF][0-9A-Fa-f]{8}/,
          /0[dD][0-9A-Fa-f]{16}/,
          /0[xX][0-9A-Fa-f]+U?/,
          /0[bB][01]+U?/,
          /[0-9]+U?/,
          /[0-9]+\.[0-9]*([eE][+-]?[0-9]+)?/,
          /[0-9]+[eE][+-]?[0-9]+/,
        ),
      ),
    string: () => token(seq('"', /([^"\\\n]|\\.)*/, '"')),
  },
});
