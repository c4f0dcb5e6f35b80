" Options of PTX buffers in Vim.
if exists('b:did_ftplugin')
  finish
endif
let b:did_ftplugin = 1

setlocal commentstring=//\ %s comments=s1:/*,mb:*,ex:*/,://
setlocal iskeyword=@,48-57,_,$,%
let b:undo_ftplugin = 'setlocal commentstring< comments< iskeyword<'
