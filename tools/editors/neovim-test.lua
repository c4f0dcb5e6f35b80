-- What neovim-test.sh runs inside Neovim: each check says what a person would do, and ends Neovim with an error if the answer
-- is not what the person would see.

local function fail(text)
  io.stdout:write('FAILED: ' .. text .. '\n')
  vim.cmd('cquit 1')
end

local function run()
  local passed = 0
  local function check(what, condition, found)
    if not condition then
      error(what .. ': ' .. vim.inspect(found), 0)
    end
    passed = passed + 1
    io.stdout:write('ok ' .. what .. '\n')
  end
  local function wait(what, condition)
    if not vim.wait(30000, condition, 20) then
      error('waited in vain: ' .. what, 0)
    end
  end

  local oriole = require('oriole')
  oriole.setup({})
  vim.cmd('edit control.ptx')
  local buffer = vim.api.nvim_get_current_buf()
  check('the file is PTX', vim.bo.filetype == 'ptx', vim.bo.filetype)
  wait('the server', function()
    local client = oriole.client(buffer)
    return client and client.initialized ~= false and client.server_capabilities ~= nil
  end)
  local client = oriole.client(buffer)
  check('its root is the folder of oriole.toml', vim.loop.fs_realpath(client.config.root_dir) == vim.loop.fs_realpath('.'), client.config.root_dir)

  if #vim.api.nvim_get_runtime_file('parser/ptx.so', false) > 0 then
    check('the colours are those of the grammar', vim.treesitter.highlighter.active[buffer] ~= nil)
    local root = vim.treesitter.get_parser(buffer, 'ptx'):parse()[1]:root()
    check('the grammar takes the file', root:type() == 'source_file' and not root:has_error(), root:sexpr())
    local query = (vim.treesitter.query.get or vim.treesitter.get_query or require('vim.treesitter.query').get_query)('ptx', 'highlights')
    local groups = {}
    for capture in query:iter_captures(root, buffer, 0, 40) do
      groups[query.captures[capture]] = true
    end
    check('the grammar has colours', groups['keyword.operator'] and groups['variable.builtin'] and groups['label'], groups)
  end

  -- Lines are counted from one here, columns from zero.
  local function find(text)
    for number, line in ipairs(vim.api.nvim_buf_get_lines(buffer, 0, -1, false)) do
      local column = line:find(text, 1, true)
      if column then
        return number, column - 1
      end
    end
    error('there is no ' .. text, 0)
  end
  local function go(text)
    local line, column = find(text)
    vim.api.nvim_win_set_cursor(0, { line, column })
    return line, column
  end
  local function ask(method, parameters)
    for _ = 1, 10 do
      local answers = vim.lsp.buf_request_sync(buffer, method, parameters or vim.lsp.util.make_position_params(), 20000)
      local answer = answers and answers[client.id]
      if answer and not answer.error and not answer.err then
        return answer.result
      end
      vim.wait(50)
    end
    error('no answer to ' .. method, 0)
  end

  -- Diagnostics come by themselves, and go. Hints about unused declarations, which every output of nvcc has, stay.
  local function errors()
    return vim.diagnostic.get(buffer, { severity = vim.diagnostic.severity.ERROR })
  end
  local line, column = find('max.u32')
  check('a good file has no errors', #errors() == 0, errors())
  vim.api.nvim_buf_set_text(buffer, line - 1, column, line - 1, column + 7, { 'maxi.u32' })
  wait('a diagnostic', function() return #errors() > 0 end)
  local diagnostic = errors()[1]
  check('the diagnostic is at the wrong instruction', diagnostic.lnum == line - 1 and diagnostic.source == 'oriole', diagnostic)
  vim.api.nvim_win_set_cursor(0, { line, column })
  local place = vim.lsp.util.make_range_params()
  place.context = { diagnostics = {} }
  local titles = vim.tbl_map(function(action) return action.title end, ask('textDocument/codeAction', place))
  check('a fix is offered', vim.tbl_count(titles) > 0, titles)
  vim.api.nvim_buf_set_text(buffer, line - 1, column, line - 1, column + 8, { 'max.u32' })
  wait('no error', function() return #errors() == 0 end)
  check('the diagnostic is gone', true)

  go('max.u32')
  local hover = ask('textDocument/hover')
  check('hover tells the instruction and its machine code', hover.contents.value:find('max') and hover.contents.value:find('sm_90'), hover)

  go('%rd5, %rd15')
  vim.lsp.buf.definition()
  wait('the definition', function() return vim.api.nvim_get_current_line():find('.reg .b64', 1, true) end)
  check('the definition of a register is its range', vim.api.nvim_win_get_cursor(0)[1] == find('.reg .b64'))

  go('%p1, %r3')
  local uses = ask('textDocument/references', vim.tbl_extend('force', vim.lsp.util.make_position_params(), { context = { includeDeclaration = false } }))
  check('references of a predicate', #uses >= 2, uses)

  go('$L__BB0_2:')
  vim.lsp.buf.rename('$loop')
  wait('the rename', function() return vim.api.nvim_buf_get_lines(buffer, line - 20, line, false) and pcall(find, '$loop:') end)
  check('the jump is renamed with its label', pcall(find, 'bra \t$loop') and not pcall(find, '$L__BB0_2'))

  go('add.s32')
  local untidy = vim.api.nvim_win_get_cursor(0)[1]
  vim.api.nvim_buf_set_lines(buffer, untidy - 1, untidy, false, { '        add.s32    %r15,   %r2,  %r1;' })
  if vim.lsp.buf.format then
    vim.lsp.buf.format({ timeout_ms = 20000 })
  else
    vim.lsp.buf.formatting_sync(nil, 20000)
  end
  untidy = find('%r15, %r2, %r1;')
  local tidy = vim.api.nvim_buf_get_lines(buffer, untidy - 1, untidy, false)[1]
  check('formatting puts the white space right', tidy:find('^%s+add%.s32%s+%%r15, %%r2, %%r1;$') ~= nil, tidy)

  go('max.u32')
  check('the kernel under the cursor', oriole.kernel_at(vim.api.nvim_win_get_cursor(0)[1]) == 'control_collatz')
  check('figures', oriole.figures():match('^sm_90 control_collatz: %d+ registers'))
  local sass = oriole.sass()
  local code = vim.api.nvim_buf_get_lines(sass, 0, -1, false)
  check('machine code beside', code[1]:match('^// control_collatz for sm_90, %d+ instructions') and #code > 20, code[1])
  vim.cmd('OrioleTarget sm_90a')
  oriole.sass()
  code = vim.api.nvim_buf_get_lines(sass, 0, -1, false)
  check('machine code for another chip', code[1]:match('for sm_90a,'), code[1])
  local ori = oriole.ori('EarlyOriSimpleLiveDead')
  check('Ori beside', vim.api.nvim_buf_get_lines(ori, 0, 1, false)[1]:match('after 10 EarlyOriSimpleLiveDead$'))

  local inside = find('max.u32')
  vim.api.nvim_buf_set_lines(buffer, inside, inside, false, { '// not saved' })
  local page = table.concat(vim.fn.readfile(oriole.page()), '\n')
  check('the page of a text that is not saved', page:find('not saved', 1, true) and page:find('control_collatz', 1, true), #page)
  vim.api.nvim_buf_set_lines(buffer, inside, inside + 1, false, {})

  vim.cmd('OrioleWhy')
  local row = find('max.u32')
  vim.api.nvim_buf_set_lines(buffer, row, row, false, { '        add.s32 %r3, %r3, 1;' })
  oriole.sass()
  local why = oriole.why()
  local told = vim.api.nvim_buf_get_lines(why, 0, -1, false)
  check('why a query ran again', vim.tbl_contains(told, 'compiles: function_tree entry control_collatz: because UnitInput.text changed'), told)

  client.stop()
  wait('the end of the server', function() return client.is_stopped() end)
  check('the server ends', true)
  io.stdout:write(passed .. ' checks passed\n')
end

local good, why = xpcall(run, function(message) return message end)
if not good then
  fail(tostring(why))
else
  vim.cmd('qall!')
end
