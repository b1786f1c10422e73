import { globSync, readdirSync, readFileSync } from "node:fs";
import { join, normalize } from "node:path/posix";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

/**
 * Layers of the sources, from the top down. A file imports only what stands in a lower line, types included: the names
 * of one line do not import each other. A folder without lines of its own may do as it likes, but in circles.
 */
const layers = {
  "core/src": `
    entries/
    prices/
    batches/ remote/
    media-tools/
    assets/ chat/ epsilon/ images/ videos/
    tasks/ uploads/
    client
    media/ node/ testing/ transport/
    storage/
    tabs/
    base/
    vocabulary/`,
  "core/src/entries": `
    browser
    index internal media mediabunny node partial-json prices remote schemas sse testing
    apart`,
  "core/src/vocabulary": `
    events
    errors
    json-schema-of
    asset chat-models json-schemas media-models video-task`,
  "core/src/chat": `
    conversation/
    complete stream
    read-ahead
    resumable-exchange
    attempts
    attempt kept-answer settlement stream-error
    resume sse-response
    partial-json/ protocol/`,
  "core/src/chat/conversation": `
    store
    call-reactions page-tools server-turns
    turns
    chat-store persistence server-requests snapshot stop turn-answers
    server-work
    chat turn-ids turn-runner
    turn/
    storage-session
    persistence/
    queue-records shown thread-list tool-calls
    join-records
    insertion-point join prepare prompt running-call
    message-tree options queue records state tool-input
    draft history initial-messages placement tools
    attachments files json-schema not-sent repair
    message tool-report turn-error`,
  "core/src/chat/conversation/persistence": `
    reading
    devices other-tabs
    device-locks writing
    keeper work-locks
    answer-keys
    parts`,
  "core/src/chat/conversation/turn": `
    answer end
    tools
    state`,
  "core/src/chat/protocol": `
    delta-reader
    answer-reader
    choice-reader chunk-parser
    accumulate call-reader event-chunks request whole-body
    delta frame-reader schema stream-end stray-lines
    event-cursor field-reader frame-json message-schema tool-schema
    image-url reported-error`,
  "core/src/remote": `
    schedules sharing storage
    collections
    collection
    first-read settling
    shared
    locks
    leaving
    sender session
    replica
    borrowed lanes passing
    line outbox viewing
    copy follow join
      place references status streams sync-state while-shown wire
    answers ask`,
  "core/src/prices": `
    cost-of estimate
    usage-cost
    video-cost
    tally
    prices
    money request-tokens`,
  "core/src/images": `
    store
    generation options
    archive state
    generate
    schema`,
  "core/src/videos": `
    list store
    entries
    entry-storage options query-options
    entry-table renewal
    create records watch
    archive check-media dismiss push read-task state
    schema/`,
  "core/src/assets": `
    store
    create
    schema watch`,
  "core/src/tasks": `
    send-once
    task-store
    task-watch watch-follower
    define-task
    merge-pushed shared-poller task-state
    pace watch-plan
    poll`,
  "core/src/transport": `
    ask-offers json-response
    billing-outcome read-body request-once
    send
    repeat
    refusal
    failure
    api-error body-reader
    error-response event-stream headers odd-body offers pauses task-path`,
  "core/src/base": `
    backoff store validate
    note-options
    option-names print-warning proxy-option-names request-hints
    foreign-names option-kinds
    unknown-options
    listeners
    clock isolate nearest platform platform-limits production random-id same scope standard-schema unknown-fields web-address`,
  "emulator/src": `
    cli index
    serve
    command/
    emulator
    gateway options
    index-page script/ tapes/
    chat/ epsilon/ images/ videos/
    assets/
    files/
    server/
    clock`,
  "ai-sdk/src": `
    index transport/
    provider
    chat/ images/ videos/
    call-error call-options files provider-options stream-of warnings`,
  "ai-sdk/src/chat": `
    model
    parts request usage
    messages`,
  "ai-sdk/src/transport": `
    index
    transport
    request resume
    answer approvals options
    memory noting replay tools`,
  "react/src": `
    server/
    devtools/
    app/ index notifications/
    use-asset use-batch use-chat-parts use-chat-stream use-images use-upload use-video-task
    batches chats images use-noted-options use-shared-store use-task
    use-store
    pass-view provider shared-stores use-is-hydrated use-latest`,
  "react/src/server": `
    app devtools index notifications
    app-hooks`,
  "react/src/devtools": `
    index empty
    plugin
    devtools
    panel
    faults-view
    calls-view stores-view storage-view tasks-view usage-view
    bill census cost shadow-root
    styles
    recording
    tap
    tapped-body
    faults texts`,
  "react/src/notifications": `
    index
    use-task-notifications
    task-notifications
    page-notices push`,
  "react/src/app": `
    de index
    chat-form describe-error download image-form text-blocks use-attachments use-conversations use-draft use-leave-warning
    video-form
    attachments conversations drafts error-kind use-own-store video-media
    conversation-listing conversation-purge conversation-search error-words form-fields
    conversation-news
    conversation-records
    conversation-record form-words prepare-image
    conversation-activity`,
};

/** The only files of the core that import a package. */
const importers: Record<string, RegExp> = {
  "@valibot/to-json-schema": /^chat\/conversation\/json-schema$/,
  idb: /^storage\/indexed-db$/,
  ky: /^transport\/repeat$/,
  "node:buffer": /^node\//,
  "node:fs": /^node\//,
  "node:fs/promises": /^node\//,
  "node:os": /^node\//,
  "node:process": /^node\//,
  mediabunny: /^media\/container$|^entries\/mediabunny$/,
  valibot: /^base\/validate$|^[^/]+\/(?:protocol\/(?:\w+-)?)?schema(?:$|\/)/,
};

type Imports = ReadonlyMap<string, readonly string[]>;
const packages = fileURLToPath(new URL("../../packages/", import.meta.url));
const sources = new Map(
  ["core", "react", "ai-sdk", "emulator"].map((name) => [name, importsOf(`${name}/src`)]),
);

test.each(Object.entries(layers))(
  "the names in the layers of %s are its files and folders",
  (folder, table) => {
    const names = readdirSync(join(packages, folder), { withFileTypes: true }).map((entry) =>
      entry.isDirectory() ? `${entry.name}/` : entry.name.replace(/\.tsx?$/, ""),
    );
    expect(namesOf(table).sort()).toEqual(names.sort());
  },
);

test.each(Object.entries(layers))("imports in %s only go down", (folder, table) => {
  expect(upward(folder, table, everyImport(folder))).toEqual([]);
});

test.each([...sources])("no file of %s imports itself over other files", (_, imports) => {
  expect(circles(imports)).toEqual([]);
});

test("packages are imported only where the table allows it", () => {
  const wrong = [...(sources.get("core") ?? [])].flatMap(([file, imports]) =>
    imports
      .filter((name) => !name.startsWith("core/") && !importers[name]?.test(file.slice("core/src/".length)))
      .map((name) => `${file} -> ${name}`),
  );
  expect(wrong).toEqual([]);
});

test("the check finds an import that goes up, one within a line, and a circle", () => {
  const imports = new Map([
    ["app/top", ["app/rooms/one", "app/base"]],
    ["app/base", ["app/top"]],
    ["app/rooms/one", ["app/halls/two", "app/rooms/three"]],
  ]);
  const wrong = ["app/base -> app/top", "app/rooms/one -> app/halls/two"];
  expect(upward("app", "top\nhalls/ rooms/\nbase", imports)).toEqual(wrong);
  expect(circles(imports)).toEqual(["app/top -> app/base -> app/top"]);
});

function namesOf(table: string): string[] {
  return table.trim().split(/\s+/);
}

function everyImport(folder: string): Imports {
  return sources.get(folder.split("/")[0] ?? "") ?? new Map();
}

/** Imports that do not lead to a lower line of the table of `folder`. */
function upward(folder: string, table: string, imports: Imports): string[] {
  const lines = table.trim().split("\n").map(namesOf);
  /** The file or folder in `folder` that `path` is, or is in. */
  const nameOf = (path: string) =>
    path.startsWith(`${folder}/`) ? path.slice(folder.length + 1).replace(/\/.*/, "/") : undefined;
  const lineOf = (path: string) => lines.findIndex((names) => names.includes(nameOf(path) ?? ""));
  return [...imports].flatMap(([from, targets]) =>
    targets
      .filter((to) => nameOf(from) && nameOf(to) && nameOf(from) !== nameOf(to) && lineOf(from) >= lineOf(to))
      .map((to) => `${from} -> ${to}`),
  );
}

/** One way back to itself for each file that has one and was not on another's way. */
function circles(imports: Imports): string[] {
  const done = new Set<string>();
  const visit = (file: string, way: readonly string[]): string[] => {
    if (way.includes(file)) return [[...way.slice(way.indexOf(file)), file].join(" -> ")];
    if (done.has(file)) return [];
    const found = (imports.get(file) ?? []).flatMap((next) => visit(next, [...way, file]));
    done.add(file);
    return found;
  };
  return [...imports.keys()].flatMap((file) => visit(file, []));
}

/** Imports of each file below `folder`: files by their path without an ending, packages by their name. */
function importsOf(folder: string): Imports {
  const files = readdirSync(join(packages, folder), { recursive: true, encoding: "utf8" });
  return new Map(
    files
      .filter((file) => /\.tsx?$/.test(file))
      .map((file) => {
        const path = join(folder, file);
        const code = readFileSync(join(packages, path), "utf8").replace(/\/\*[\s\S]*?\*\//g, "");
        const specifiers = [...code.matchAll(/\b(?:from|import) ?\(?"([\w@./-]+)"/g)].map(
          ([, name = ""]) => name,
        );
        return [
          path.replace(/\.tsx?$/, ""),
          specifiers.map((name) =>
            name.startsWith(".") ? normalize(join(path, "..", name.replace(/\.js$/, ""))) : name,
          ),
        ];
      }),
  );
}

test("No file takes the path of a URL for a path of the disk: a space and an umlaut have other names in a URL", () => {
  const wrong = globSync("**/*.{ts,tsx,js,mjs}", {
    cwd: join(packages, ".."),
    exclude: (name) => /(?:^|\/)(?:node_modules|dist|\.\w+)$/.test(name),
  }).filter((file) =>
    /import\.meta\.url\)?\.(?:pathname|slice|replace)/.test(readFileSync(join(packages, "..", file), "utf8")),
  );
  expect(wrong).toEqual([]);
});

test.each(["ARCHITECTURE.md", "CONTRIBUTING.md"])("each source file that %s names is there", (page) => {
  const root = join(packages, "..");
  const exclude = (name: string) => /(?:^|\/)(?:node_modules|dist|\.\w+)$/.test(name);
  const files = globSync("{packages,tests,scripts,docs,bench,examples}/**/*.{ts,tsx}", {
    cwd: root,
    exclude,
  });
  const named = readFileSync(join(root, page), "utf8").matchAll(/`([\w./-]+\.tsx?)`/g);
  const missing = [...named]
    .map(([, path = ""]) => path)
    .filter((path) => !files.some((file) => `/${file}`.endsWith(`/${path}`)));
  expect(missing).toEqual([]);
});
