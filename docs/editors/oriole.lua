-- Oriole in Neovim (0.7 and later): starts `oriole lsp` for PTX, and adds commands for what the protocol has no words for.
--
--   require('oriole').setup({ cmd = { 'oriole', 'lsp' }, settings = { targets = { 'sm_90a' } } })
--
-- Put this file where Neovim finds modules, for example ~/.config/nvim/lua/oriole.lua. See neovim.md beside it.

local M = {}

--- What `setup` was given; the settings are those of `oriole.toml`.
M.config = {
  cmd = { 'oriole', 'lsp' },
  filetypes = { 'ptx' },
  settings = {},
  -- Called as on_attach(client, buffer).
  on_attach = nil,
}

local running = {}

--- The folder that a file belongs to: the nearest one above it that has an `oriole.toml` or a repository.
local function root_of(path)
  local folder = vim.fn.fnamemodify(path, ':p:h')
  local at = folder
  while true do
    for _, name in ipairs({ 'oriole.toml', '.git' }) do
      if vim.fn.isdirectory(at .. '/' .. name) == 1 or vim.fn.filereadable(at .. '/' .. name) == 1 then
        return at
      end
    end
    local above = vim.fn.fnamemodify(at, ':h')
    if above == at then
      return folder
    end
    at = above
  end
end

--- The client of Oriole that is attached to a buffer.
function M.client(buffer)
  buffer = (buffer == nil or buffer == 0) and vim.api.nvim_get_current_buf() or buffer
  local get = vim.lsp.get_clients or vim.lsp.get_active_clients
  for _, client in pairs(get()) do
    if client.name == 'oriole' and vim.lsp.buf_is_attached(buffer, client.id) then
      return client
    end
  end
end

local function request(method, parameters, buffer)
  local client = M.client(buffer)
  if not client then
    vim.notify('oriole: no server is attached to this buffer', vim.log.levels.WARN)
    return nil
  end
  local answers, failure = vim.lsp.buf_request_sync(buffer or 0, method, parameters, 20000)
  local answer = answers and answers[client.id]
  if not answer or answer.error or answer.err then
    local why = answer and (answer.error or answer.err) or failure
    vim.notify('oriole: ' .. (type(why) == 'table' and why.message or tostring(why)), vim.log.levels.WARN)
    return nil
  end
  return answer.result
end

--- The kernel or function at a line, or the first kernel.
function M.kernel_at(line, buffer)
  local parameters = { textDocument = vim.lsp.util.make_text_document_params(buffer or 0) }
  local first
  for _, symbol in ipairs(request('textDocument/documentSymbol', parameters, buffer) or {}) do
    -- Kernels are events (24), functions are functions (12).
    if symbol.kind == 24 or symbol.kind == 12 then
      if symbol.range.start.line < line and line <= symbol.range['end'].line + 1 then
        return symbol.name
      end
      if symbol.kind == 24 and not first then
        first = symbol.name
      end
    end
  end
  return first
end

--- Shows text in a window beside, in a buffer that is no file. The same name is the same buffer.
local function show(name, filetype, text)
  local buffer = vim.fn.bufnr(name)
  if buffer == -1 then
    buffer = vim.api.nvim_create_buf(true, true)
    vim.api.nvim_buf_set_name(buffer, name)
  end
  vim.api.nvim_buf_set_option(buffer, 'modifiable', true)
  vim.api.nvim_buf_set_lines(buffer, 0, -1, false, vim.split(text, '\n'))
  vim.api.nvim_buf_set_option(buffer, 'modifiable', false)
  vim.api.nvim_buf_set_option(buffer, 'filetype', filetype)
  if vim.fn.bufwinid(buffer) == -1 then
    local before = vim.api.nvim_get_current_win()
    vim.cmd('vertical sbuffer ' .. buffer)
    vim.api.nvim_set_current_win(before)
  end
  return buffer
end

local function execute(command, argument)
  return request('workspace/executeCommand', { command = command, arguments = { argument } })
end

--- Machine code of the kernel under the cursor, beside.
function M.sass()
  local kernel = M.kernel_at(vim.api.nvim_win_get_cursor(0)[1])
  local shown = kernel and execute('oriole.showSass', { uri = vim.uri_from_bufnr(0), kernel = kernel })
  return shown and show('oriole://sass/' .. kernel, 'sass_nvidia', shown.text)
end

--- Ori of the function under the cursor after a phase, by name or number.
function M.ori(phase)
  local kernel = M.kernel_at(vim.api.nvim_win_get_cursor(0)[1])
  local argument = { uri = vim.uri_from_bufnr(0), kernel = kernel, phase = phase ~= '' and phase or nil }
  local shown = kernel and execute('oriole.showOri', argument)
  return shown and show('oriole://ori/' .. kernel, 'ori', shown.text)
end

--- The page about the text as it is in the buffer, in the browser: in a file of this session, which ends with it.
function M.page()
  local made = execute('oriole.showPage', { uri = vim.uri_from_bufnr(0) })
  if not made then
    return nil
  end
  local path = vim.fn.tempname() .. '.html'
  vim.fn.writefile(vim.split(made.html, '\n'), path)
  if vim.ui and vim.ui.open and #vim.api.nvim_list_uis() > 0 then
    vim.ui.open(path)
  end
  print(path)
  return path
end

--- Shows the file for another chip; without one for its own.
function M.target(chip)
  execute('oriole.setTarget', { uri = vim.uri_from_bufnr(0), chip = chip ~= '' and chip or nil })
end

--- Figures of the kernel under the cursor, for each chip.
function M.figures()
  local parameters = { textDocument = vim.lsp.util.make_text_document_params(0) }
  parameters.kernel = M.kernel_at(vim.api.nvim_win_get_cursor(0)[1])
  local lines = {}
  for _, row in ipairs(request('ptx/kernelStats', parameters) or {}) do
    local stale = row.stale and ' (stale)' or ''
    table.insert(lines, string.format('%s %s: %d registers, %d instructions%s', row.chip, row.kernel, row.registers, row.instructions, stale))
    vim.list_extend(lines, vim.tbl_map(function(why) return '  ' .. why end, row.why))
  end
  local text = table.concat(lines, '\n')
  print(text)
  return text
end

--- Which queries the last edit made run, and why. The first call turns the recording on, from the next edit on.
function M.why()
  local told = request('ptx/lastEdit', vim.empty_dict())
  return told and show('oriole://edit', 'text', told.text)
end

local function start(buffer)
  local name = vim.api.nvim_buf_get_name(buffer)
  local root = root_of(name)
  local options = {
    name = 'oriole',
    cmd = M.config.cmd,
    root_dir = root,
    init_options = M.config.settings,
    settings = { oriole = M.config.settings },
    on_attach = M.config.on_attach,
  }
  if vim.lsp.start then
    -- From 0.8 on: one server for each folder.
    vim.lsp.start(options, { bufnr = buffer })
    return
  end
  local id = running[root]
  if not id or not vim.lsp.get_client_by_id(id) then
    id = vim.lsp.start_client(options)
    running[root] = id
  end
  if id then
    vim.lsp.buf_attach_client(buffer, id)
  end
end

-- The colours of the tree-sitter grammar, if its parser is installed.
local function colour(buffer)
  if not vim.treesitter or #vim.api.nvim_get_runtime_file('parser/ptx.*', false) == 0 then
    return
  end
  if vim.treesitter.start then
    vim.treesitter.start(buffer, 'ptx')
  else
    require('vim.treesitter.highlighter').new(vim.treesitter.get_parser(buffer, 'ptx'))
  end
end

function M.setup(config)
  M.config = vim.tbl_extend('force', M.config, config or {})
  if vim.filetype and vim.filetype.add then
    vim.filetype.add({ extension = { ptx = 'ptx' } })
  end
  local group = vim.api.nvim_create_augroup('oriole', { clear = true })
  vim.api.nvim_create_autocmd({ 'BufRead', 'BufNewFile' }, {
    group = group,
    pattern = '*.ptx',
    callback = function(event)
      vim.api.nvim_buf_set_option(event.buf, 'filetype', 'ptx')
    end,
  })
  vim.api.nvim_create_autocmd('FileType', {
    group = group,
    pattern = M.config.filetypes,
    callback = function(event)
      if vim.bo[event.buf].filetype == 'ptx' then
        vim.bo[event.buf].commentstring = '// %s'
        vim.bo[event.buf].iskeyword = '@,48-57,_,$,%'
        colour(event.buf)
      end
      start(event.buf)
    end,
  })
  local command = vim.api.nvim_create_user_command
  command('OrioleSass', M.sass, { desc = 'Machine code of the kernel under the cursor' })
  command('OrioleOri', function(given) M.ori(given.args) end, { nargs = '?', desc = 'Ori after a phase' })
  command('OriolePage', M.page, { desc = 'The page about the text, in the browser' })
  command('OrioleTarget', function(given) M.target(given.args) end, { nargs = '?', desc = 'Show the file for another chip' })
  command('OrioleWhy', M.why, { desc = 'Why queries ran again after the last edit' })
  command('OrioleFigures', M.figures, { desc = 'Figures of the kernel under the cursor' })
end

return M
