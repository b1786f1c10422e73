import type { RecordStorage } from "@sluice/core";
import { GatewayProvider } from "@sluice/react";
import { useDraft } from "@sluice/react/app";
import { memoryStorage, signOut } from "@sluice/stores";
import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { StrictMode } from "react";
import { renderToString } from "react-dom/server";
import { afterEach, expect, test, vi } from "vitest";
import { clientOf, settled, stoppedClock } from "../../../core/test/support/gateway.js";

afterEach(() => localStorage.clear());

interface FieldProps {
  readonly draftKey?: string;
  readonly storage?: RecordStorage;
  readonly parse?: (stored: unknown) => string | undefined;
}

function Field({ draftKey = "chat/a", ...options }: FieldProps) {
  const { draft, setDraft, clearDraft, isRestoring } = useDraft(draftKey, "", options);
  return (
    <>
      <textarea value={draft} aria-busy={isRestoring} onChange={({ target }) => setDraft(target.value)} />
      <button type="button" onClick={clearDraft}>
        send
      </button>
      <button type="button" onClick={() => setDraft((before) => `${before}!`)}>
        shout
      </button>
    </>
  );
}

function Form({ name, storage }: { name: string; storage: RecordStorage }) {
  const { draft } = useDraft(name, { text: "", size: "2K" }, { storage });
  return <p>{JSON.stringify(draft)}</p>;
}

/** A page load: its own client, and the storage of the browser. */
function page() {
  const clock = stoppedClock();
  const events: { type: string; issue?: { path: string } }[] = [];
  const { client } = clientOf(() => new Response(), { clock, onEvent: (event) => events.push(event) });
  const show = (props: FieldProps = {}) =>
    render(
      <StrictMode>
        <GatewayProvider client={client}>
          <Field {...props} />
        </GatewayProvider>
      </StrictMode>,
    );
  return { client, clock, events, show };
}

const field = () => screen.getByRole<HTMLTextAreaElement>("textbox");
const type = (text: string) => fireEvent.change(field(), { target: { value: text } });
const rest = () => act(() => settled());

test("a draft is there again after a reload", async () => {
  const before = page();
  const shown = before.show();
  await rest();
  type("Why is");
  await act(() => before.clock.advance(400));
  shown.unmount();
  page().show();
  expect(field().value).toBe("");
  await rest();
  expect(field().value).toBe("Why is");
});

test("A draft is shown as restoring until its storage was read", async () => {
  const storage = memoryStorage();
  await storage.write("drafts", new Map([["chat/a", "Why is"]]));
  let answer: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  page().show({ storage: { ...storage, read: (collection) => held.then(() => storage.read(collection)) } });
  const shown = () => [field().value, field().getAttribute("aria-busy")];
  await rest();
  expect(shown()).toEqual(["", "true"]);
  answer();
  await rest();
  expect(shown()).toEqual(["Why is", "false"]);
});

test("a draft is written when the page is left, without waiting", async () => {
  const before = page();
  before.show();
  await rest();
  type("Why is");
  act(() => void window.dispatchEvent(new Event("pagehide")));
  expect(Object.values(localStorage)).toEqual([JSON.stringify("Why is")]);
});

test("a draft is written when its field goes away, without waiting", async () => {
  const { show } = page();
  const { unmount } = show();
  await rest();
  type("Why is");
  unmount();
  expect(Object.values(localStorage)).toEqual([JSON.stringify("Why is")]);
});

test("a draft of a storage that is late is shown when it comes", async () => {
  const storage = memoryStorage();
  await storage.write("drafts", new Map([["chat/a", "Why is"]]));
  let answer: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const { clock, show } = page();
  show({ storage: { ...storage, read: (collection) => held.then(() => storage.read(collection)) } });
  await act(() => clock.advance(3000));
  expect([field().value, field().getAttribute("aria-busy")]).toEqual(["", "false"]);
  answer();
  await rest();
  expect(field().value).toBe("Why is");
});

test("a draft is forgotten with all that its client forgets", async () => {
  const { client, show } = page();
  show();
  await rest();
  type("Why is");
  await act(() => signOut(client));
  expect([field().value, localStorage.length]).toEqual(["", 0]);
});

test("a server renders no draft", async () => {
  const { client, show } = page();
  show();
  await rest();
  type("Why is");
  const html = renderToString(
    <GatewayProvider client={client}>
      <Field />
    </GatewayProvider>,
  );
  expect(html).toContain('<textarea aria-busy="true"></textarea>');
});

test("a draft that is shown again is not read again", async () => {
  const storage = memoryStorage();
  const { show } = page();
  const { unmount } = show({ storage });
  await rest();
  unmount();
  // another tab has written its own
  await storage.write("drafts", new Map([["chat/a", "Elsewhere"]]));
  show({ storage });
  await rest();
  expect(field().value).toBe("");
});

test("typing writes once in a while, not for each key", async () => {
  const writes: unknown[] = [];
  const kept = memoryStorage();
  const storage: RecordStorage = {
    ...kept,
    write(collection, changes) {
      writes.push(...changes.values());
      return kept.write(collection, changes);
    },
  };
  const { clock, show } = page();
  show({ storage });
  await rest();
  for (const text of ["W", "Wh", "Why"]) type(text);
  expect([writes, clock.sleeping()]).toEqual([[], 1]);
  await act(() => clock.advance(400));
  expect(writes).toEqual(["Why"]);
  type("Why is");
  await act(() => clock.advance(300));
  act(() => void window.dispatchEvent(new Event("pagehide")));
  expect(writes).toEqual(["Why", "Why is"]);
  // the page was kept, and its user goes on: 400 ms count anew
  type("Why is it");
  await act(() => clock.advance(399));
  expect(writes).toHaveLength(2);
  await act(() => clock.advance(1));
  expect(writes).toEqual(["Why", "Why is", "Why is it"]);
});

test("typing into a storage that does not answer adds few writes to it, and the last text is written when it answers", async () => {
  const kept = memoryStorage();
  const waiting: (() => void)[] = [];
  let hangs = true;
  const storage: RecordStorage = {
    ...kept,
    async write(collection, changes) {
      if (hangs) await new Promise<void>((answer) => void waiting.push(answer));
      await kept.write(collection, changes);
    },
  };
  const { clock, show } = page();
  show({ storage });
  await rest();
  for (let second = 0; second < 60; second += 1) {
    type(`Why is ${second}`);
    await act(() => clock.advance(1000));
  }
  expect(waiting.length).toBeLessThan(15);
  // left now, a page asks for its last text all the same
  const before = waiting.length;
  type("Why is the sky blue?");
  window.dispatchEvent(new Event("pagehide"));
  expect(waiting).toHaveLength(before + 1);
  type("Why is the sky blue at noon?");
  hangs = false;
  for (const answer of waiting) answer();
  await act(() => clock.advance(2000));
  expect(await kept.read("drafts")).toEqual(new Map([["chat/a", "Why is the sky blue at noon?"]]));
});

test("A field that has gone leaves no listener on the page", async () => {
  const listening = vi.spyOn(globalThis, "addEventListener");
  const { unmount } = page().show();
  await rest();
  unmount();
  const signals = listening.mock.calls.flatMap(([type, , options]) =>
    type === "pagehide" ? [(options as AddEventListenerOptions).signal?.aborted] : [],
  );
  listening.mockRestore();
  expect(signals.length).toBeGreaterThan(0);
  expect(new Set(signals)).toEqual(new Set([true]));
});

test("A draft can be changed by a function, and components with the same key show the same one", async () => {
  const { client } = page();
  render(
    <GatewayProvider client={client}>
      <Field />
      <Field />
      <Field draftKey="chat/b" />
    </GatewayProvider>,
  );
  await rest();
  const fields = () => screen.getAllByRole<HTMLTextAreaElement>("textbox");
  fireEvent.change(fields()[0] as HTMLElement, { target: { value: "Why" } });
  fireEvent.click(screen.getAllByRole("button", { name: "shout" })[1] as HTMLElement);
  expect(fields().map(({ value }) => value)).toEqual(["Why!", "Why!", ""]);
});

test("A parser reads what was stored, and nothing where nothing was", async () => {
  const storage = memoryStorage();
  await storage.write("drafts", new Map([["old", { text: "Why" }]]));
  await storage.write("drafts", new Map([["other", 7]]));
  const parse = (stored: unknown) => (stored === 7 ? undefined : (stored as { text: string }).text);
  const { client } = page();
  render(
    <GatewayProvider client={client}>
      {["old", "other", "new"].map((key) => (
        <Field key={key} draftKey={key} storage={storage} parse={parse} />
      ))}
    </GatewayProvider>,
  );
  await rest();
  const fields = screen.getAllByRole<HTMLTextAreaElement>("textbox");
  expect(fields.map(({ value }) => value)).toEqual(["Why", "", ""]);
});

function Tags({ storage }: { storage: RecordStorage }) {
  const { draft } = useDraft<readonly string[]>("tags", [], { storage });
  return <p>{Array.isArray(draft) ? draft.join() : "no list"}</p>;
}

test("An option that a hook does not know is warned of once", async () => {
  const { events, show } = page();
  show({ storrage: memoryStorage() } as FieldProps);
  await waitFor(() =>
    expect(events).toMatchObject([{ type: "warning", issue: { path: "useDraft.storrage" } }]),
  );
});

test("A list that was stored is a list again", async () => {
  const storage = memoryStorage();
  await storage.write("drafts", new Map([["tags", ["reef", "dawn"]]]));
  const { client } = page();
  render(
    <GatewayProvider client={client}>
      <Tags storage={storage} />
    </GatewayProvider>,
  );
  await rest();
  expect(screen.getByRole("paragraph").textContent).toBe("reef,dawn");
});

test("a draft that was sent leaves nothing behind", async () => {
  const { clock, show } = page();
  show();
  await rest();
  type("Why is");
  await act(() => clock.advance(400));
  fireEvent.click(screen.getByRole("button", { name: "send" }));
  expect([field().value, localStorage.length]).toEqual(["", 0]);
});

test("each conversation has its own draft, which survives a route change", async () => {
  const { client, show } = page();
  const { rerender } = show({ draftKey: "chat/a" });
  await rest();
  type("To a");
  const other = (draftKey: string) =>
    rerender(
      <StrictMode>
        <GatewayProvider client={client}>
          <Field draftKey={draftKey} />
        </GatewayProvider>
      </StrictMode>,
    );
  other("chat/b");
  await rest();
  expect(field().value).toBe("");
  other("chat/a");
  expect(field().value).toBe("To a");
});

test("A text that is typed before the storage was read stays", async () => {
  const storage = memoryStorage();
  await storage.write("drafts", new Map([["chat/a", "old"]]));
  page().show({ storage });
  type("new");
  await rest();
  expect(field().value).toBe("new");
});

test("a storage that is refused leaves a draft of this page, and is reported", async () => {
  const refused = () => Promise.reject(new Error("the disk is broken"));
  const storage: RecordStorage = { read: refused, write: refused, watch: () => () => {} };
  const { clock, events, show } = page();
  show({ storage });
  await rest();
  type("Why is");
  await act(() => clock.advance(400));
  expect([field().value, field().getAttribute("aria-busy")]).toEqual(["Why is", "false"]);
  expect(events.map(({ type }) => type)).toContain("storage-failure");
});

test("an object that was stored by an older app gets the fields that it lacks", async () => {
  const storage = memoryStorage();
  await storage.write("drafts", new Map([["form", { text: "A reef" }]]));
  for (const [name, record] of [
    ["number", 7],
    ["list", ["A reef"]],
    ["nothing", null],
  ] as const)
    await storage.write("drafts", new Map([[name, record]]));
  const { client } = page();
  render(
    <GatewayProvider client={client}>
      <Form name="form" storage={storage} />
      {["number", "list", "nothing"].map((name) => (
        <Form key={name} name={name} storage={storage} />
      ))}
    </GatewayProvider>,
  );
  await rest();
  expect(screen.getAllByRole("paragraph").map(({ textContent }) => textContent)).toEqual([
    '{"text":"A reef","size":"2K"}',
    ...Array(3).fill('{"text":"","size":"2K"}'),
  ]);
});
