-- kinformer.lua: the routes of a worker of nginx: the ready endpoints of each Service, from EndpointSlices. The worker's timer steps the
-- engine: there is no thread, and no callback. It needs kinformer.ffi and slice.ffi beside it (README.md).
local ffi = require "ffi"

local folder = debug.getinfo(1, "S").source:match "^@(.*/)" or "./"
local function read(name) return assert(io.open(folder .. name)):read "*a" end

ffi.cdef(read "kinformer.ffi")
ffi.cdef(read "slice.ffi")
ffi.cdef [[
struct kinformer_pollfd { int fd; short events, revents; };
int poll(struct kinformer_pollfd *fds, unsigned long count, int timeout_ms);
]]
local ki = ffi.load "libkinformer.so.1"

local STEP_S = 0.01 -- between two steps, and the longest delay of a change
local STEPS_MAX = 50 -- at once: a long list does not hold up the requests of the worker
local SYNC_S = 2 -- the longest time that a new worker waits for its first list before it serves
local INDEX, LABEL = "service", "metadata.labels['kubernetes.io/service-name']"

local err = ffi.new "ki_error"
local function check(status)
    if status ~= ki.KI_OK then error(ffi.string(ki.ki_error_message(err)), 2) end
end
local function sized(name, members)
    local options = ffi.new(name, members)
    options.size = ffi.sizeof(name)
    return options
end

-- Makes the arrays of ki_field of the rows that `kinformer gen --ffi` prints as comments. `rows` keeps the paths.
local function arrays_of(text)
    local arrays, rows = {}, {}
    for name, lines in text:gmatch "/%* ([%w_]+), an array of ki_field:[^\n]*\n(.-)%*/" do
        local own = {}
        for path, offset, size, kind, elements in lines:gmatch '{ "(.-)", (%d+), (%d+), ([%w_]+), ([%w_]+) }' do
            own[#own + 1] = { path, tonumber(offset), tonumber(size), kind, arrays[elements] }
        end
        own[#own + 1] = {} -- zeros: the end
        arrays[name] = ffi.new("ki_field[?]", #own, own)
        rows[name] = own
    end
    return arrays, rows
end

local kinformer = { routes = {} }
kinformer.fields, kinformer.rows = arrays_of(read "slice.ffi")

-- Steps the engine while it has work, and forgets the routes when a slice has changed.
local function step()
    for _ = 1, STEPS_MAX do
        check(ki.ki_engine_step(kinformer.engine, 0, err))
        if ki.ki_engine_timeout(kinformer.engine) ~= 0 then break end
    end
    local snapshot = ki.ki_informer_snapshot(kinformer.slices)
    local version = ffi.string(ki.ki_snapshot_resource_version(snapshot))
    if version == kinformer.version then
        ki.ki_snapshot_free(snapshot)
        return
    end
    ki.ki_snapshot_free(kinformer.snapshot)
    kinformer.snapshot, kinformer.version, kinformer.routes = snapshot, version, {}
end

local function on_timer(is_last)
    if is_last then -- the worker ends
        ki.ki_snapshot_free(kinformer.snapshot)
        ki.ki_factory_free(kinformer.factory)
        ki.ki_engine_free(kinformer.engine)
        kinformer.snapshot = nil
        return
    end
    local ok, why = pcall(step)
    if not ok then ngx.log(ngx.ERR, "kinformer: ", why) end
end

-- Starts the informer, and waits for its first list. To be called in init_worker_by_lua: nginx has forked the worker, which serves afterwards.
function kinformer.start()
    local engine, factory, slices = ffi.new "ki_engine *[1]", ffi.new "ki_factory *[1]", ffi.new "ki_informer *[1]"
    local log = ffi.new("ki_log", { write = ki.ki_log_stderr }) -- into nginx's error log
    check(ki.ki_engine_new(sized("ki_engine_options", { log = log }), engine, err))
    check(ki.ki_factory_new_default(sized("ki_factory_options", { engine = engine[0] }), factory, err))
    check(ki.ki_factory_informer(factory[0], ki.ki_resource_endpointslices,
        sized("ki_informer_options", { view = kinformer.fields.slice_fields }), slices, err))
    check(ki.ki_informer_add_indexers(slices[0], ffi.new("ki_indexer", { name = INDEX, path = LABEL }), 1, err))
    check(ki.ki_factory_start(factory[0], err))
    kinformer.engine, kinformer.factory, kinformer.slices = engine[0], factory[0], slices[0]
    kinformer.snapshot = ki.ki_informer_snapshot(slices[0])
    local ready = ffi.new("struct kinformer_pollfd", { fd = ki.ki_engine_fd(engine[0]), events = 1 })
    local last = ngx.now() + SYNC_S
    while not ki.ki_informer_has_synced(slices[0]) and ngx.now() < last do
        ffi.C.poll(ready, 1, 100)
        step()
        ngx.update_time()
    end
    assert(ngx.timer.every(STEP_S, on_timer))
end

local function add_slice(peers, slice, port_name)
    local endpoints = ffi.cast("const struct slice_endpoint *", slice.endpoints.items)
    local ports = ffi.cast("const struct slice_port *", slice.ports.items)
    for i = 0, tonumber(slice.ports.count) - 1 do
        local name = ports[i].name ~= nil and ffi.string(ports[i].name) or ""
        for j = 0, tonumber(slice.endpoints.count) - 1 do
            local one = endpoints[j]
            local is_ready = one.conditions.ready or not one.conditions.has_ready -- absent: ready
            if name == port_name and is_ready and one.addresses.count > 0 then
                peers[#peers + 1] = { ffi.string(one.addresses.items[0]), ports[i].port }
            end
        end
    end
end

-- Returns the next ready endpoint of a port of a Service, as address and port; nil if there is none.
function kinformer.next_peer(namespace, service, port_name)
    local key = namespace .. "/" .. service .. "/" .. port_name
    local peers = kinformer.routes[key]
    if not peers then
        peers = { at = 0 }
        local cursor = ffi.new "ki_cursor"
        local obj = ki.ki_snapshot_next_by_index(kinformer.snapshot, INDEX, service, cursor)
        while obj ~= nil do
            if ffi.string(ki.ki_object_namespace(obj)) == namespace then
                add_slice(peers, ffi.cast("const struct slice *", ki.ki_object_view(obj)), port_name)
            end
            obj = ki.ki_snapshot_next_by_index(kinformer.snapshot, INDEX, service, cursor)
        end
        kinformer.routes[key] = peers
    end
    if #peers == 0 then return nil end
    peers.at = peers.at % #peers + 1
    return peers[peers.at][1], peers[peers.at][2]
end

return kinformer
