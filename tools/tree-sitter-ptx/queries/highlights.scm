; Colours of PTX. The names are those that Neovim and Helix share.

(comment) @comment
(line_marker) @comment
(string) @string
(number) @number

[
  ".version" ".target" ".address_size" ".file" ".loc" ".pragma" ".alias" ".section" ".entry" ".func"
  ".branchtargets" ".calltargets" ".callprototype" ".align" ".attribute" "function_name" "inlined_at"
] @keyword

(word) @type
(function_attribute (word) @keyword)
(section name: (word) @namespace)
(target (identifier) @constant)

(function name: (identifier) @function)
(alias name: (identifier) @function)
(alias function: (identifier) @function)
(label name: (identifier) @label)

(opcode name: (identifier) @keyword.operator)
(modifier) @attribute
(guard (identifier) @variable)
(parameter (declarator name: (identifier) @variable.parameter))

((identifier) @variable.builtin
  (#match? @variable.builtin "^([%](tid|ntid|ctaid|nctaid|laneid|warpid|nwarpid|smid|nsmid|gridid|clusterid|nclusterid|cluster_.*|is_explicit_cluster|clock(64|_hi)?|globaltimer(_lo|_hi)?|lanemask_.*|envreg[0-9]+|pm[0-9]+(_64)?|.*_smem_size|.*_smem_offset.*)|WARP_SZ)$"))
((identifier) @variable
  (#match? @variable "^[%]"))
(component) @property

["," ";" ":"] @punctuation.delimiter
["(" ")" "[" "]" "{" "}"] @punctuation.bracket
["@" "!" "=" "+" "-" "*" "/" "|" "&" "^" "~" "<<" ">>"] @operator
