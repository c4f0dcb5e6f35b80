" Colours of PTX in Vim. Opcodes are known by their place, so that new ones need no change here.
if exists('b:current_syntax')
  finish
endif
syntax case match

syntax match ptxOpcode /\v((^|[;{}:])\s*|\@!?[%$_a-zA-Z0-9]+\s+)@<=[a-z][a-z0-9_]*\ze([. \t;]|$)/
syntax match ptxModifier /\v\.[A-Za-z0-9_]+(::[A-Za-z0-9_]+)*/
syntax match ptxType /\v\.(pred|[bus](8|16|32|64|128)|b[fF]?16(x2)?|f(16|32|64)(x2)?|tf32|e[45]m[23](x2)?|v[248])>/
syntax match ptxSpace /\v\.(reg|sreg|const|global|local|param|shared|tex)>/
syntax match ptxDirective /\v\.(version|target|address_size|file|loc|section|pragma|alias|entry|func|visible|extern|weak|common)>/
syntax match ptxDirective /\v\.(align|ptr|attribute|maxntid|reqntid|minnctapersm|maxnctapersm|maxnreg|noreturn|explicitcluster)>/
syntax match ptxDirective /\v\.(reqnctapercluster|maxclusterrank|branchtargets|calltargets|callprototype)>/
syntax match ptxKernel /\v(\.entry\s+)@<=[A-Za-z0-9_$%]+/
syntax match ptxLabel /\v^\s*\zs[A-Za-z_$%][A-Za-z0-9_$]*\ze\s*:/
syntax match ptxRegister /\v\%[A-Za-z0-9_$]+/
syntax match ptxSpecial /\v\%(n?tid|n?ctaid|n?clusterid|cluster_n?ctaid)\.[xyz]>/
syntax match ptxSpecial /\v(\%(laneid|n?warpid|n?smid|gridid|clock(64|_hi)?|globaltimer(_lo|_hi)?|lanemask_[a-z]+)|WARP_SZ)>/
syntax match ptxNumber /\v<(0[xX]\x+|0[bB][01]+|\d+(\.\d*)?([eE][-+]?\d+)?)U?>/
syntax match ptxFloat /\v<0[fF]\x{8}>|<0[dD]\x{16}>/
syntax match ptxGuard /\v\@!?/
syntax region ptxString start=/"/ skip=/\\./ end=/"/ oneline
syntax match ptxComment +//.*$+ contains=ptxTodo,@Spell
syntax region ptxComment start=+/\*+ end=+\*/+ contains=ptxTodo,@Spell
syntax keyword ptxTodo TODO FIXME XXX contained

highlight default link ptxOpcode Statement
highlight default link ptxModifier StorageClass
highlight default link ptxType Type
highlight default link ptxSpace StorageClass
highlight default link ptxDirective PreProc
highlight default link ptxKernel Function
highlight default link ptxLabel Label
highlight default link ptxRegister Identifier
highlight default link ptxSpecial Constant
highlight default link ptxNumber Number
highlight default link ptxFloat Float
highlight default link ptxGuard Conditional
highlight default link ptxString String
highlight default link ptxComment Comment
highlight default link ptxTodo Todo

let b:current_syntax = 'ptx'
