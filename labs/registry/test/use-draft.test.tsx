import type { RecordStorage } from "@sluice/core";
import { GatewayProvider, memoryStorage, signOut } from "@sluice/react";
import { act, fireEvent, render, screen } from "@testing-library/react";
import { StrictMode } from "react";
import { renderToString } from "react-dom/server";
import { afterEach, expect, test } from "vitest";
import { useDraft } from "@/components/sluice/use-draft";
import { createTestClient, settled } from "../../../packages/core/test/support/gateway.js";

afterEach(() => localStorage.clear());

interface FieldProps {
  readonly draftKey?: string;
  readonly storage?: RecordStorage;
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
function page(scope?: string) {
  const { client } = createTestClient(() => new Response(), { ...(scope && { user: scope }) });
  const show = (props: FieldProps = {}) =>
    render(
      <StrictMode>
        <GatewayProvider client={client}>
          <Field {...props} />
        </GatewayProvider>
      </StrictMode>,
    );
  return { client, show };
}

const field = () => screen.getByRole<HTMLTextAreaElement>("textbox");
const type = (text: string) => fireEvent.change(field(), { target: { value: text } });
const rest = () => act(() => settled());

test("a draft is there again after a reload", async () => {
  const before = page();
  const shown = before.show();
  await rest();
  type("Why is");
  shown.unmount();
  page().show();
  expect(field().value).toBe("");
  await rest();
  expect(field().value).toBe("Why is");
});

test("A draft is shown as restoring until its storage was read", async () => {
  const storage = memoryStorage();
  await storage.write("drafts", new Map([["chat/a", "Why is"]]));
  let respond: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    respond = resolve;
  });
  page().show({ storage: { ...storage, read: (collection) => held.then(() => storage.read(collection)) } });
  const shown = () => [field().value, field().getAttribute("aria-busy")];
  await rest();
  expect(shown()).toEqual(["", "true"]);
  respond();
  await rest();
  expect(shown()).toEqual(["Why is", "false"]);
});

test.each([undefined, "ann"])("signing out removes the drafts of the user %s", async (scope) => {
  const { client, show } = page(scope);
  const { unmount } = show();
  await rest();
  type("Why is");
  expect(localStorage.length).toBe(1);
  unmount();
  await act(() => signOut(client));
  expect(localStorage.length).toBe(0);
  show();
  await rest();
  expect(field().value).toBe("");
});

test("a user sees no draft of another user of the browser", async () => {
  const { show } = page("ann");
  const { unmount } = show();
  await rest();
  type("Why is");
  unmount();
  const other = page("bob").show();
  await rest();
  expect(field().value).toBe("");
  other.unmount();
  page("ann").show();
  await rest();
  expect(field().value).toBe("Why is");
});

test("a draft that a storage refuses lasts as long as the page", async () => {
  const refused = () => Promise.reject(new Error("the disk is broken"));
  const storage: RecordStorage = { read: refused, write: refused, subscribe: () => () => {} };
  const { show } = page();
  const { unmount } = show({ storage });
  await rest();
  type("Why is");
  await rest();
  expect([field().value, field().getAttribute("aria-busy")]).toEqual(["Why is", "false"]);
  unmount();
  show({ storage });
  expect(field().value).toBe("Why is");
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

function Tags({ storage }: { storage: RecordStorage }) {
  const { draft } = useDraft<readonly string[]>("tags", [], { storage });
  return <p>{Array.isArray(draft) ? draft.join() : "no list"}</p>;
}

test("A stored list is restored as a list", async () => {
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

test("a sent draft leaves nothing in the storage", async () => {
  const { show } = page();
  show();
  await rest();
  type("Why is");
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
  await rest();
  expect(field().value).toBe("To a");
});

test("A text that is typed before the storage was read is kept", async () => {
  const storage = memoryStorage();
  await storage.write("drafts", new Map([["chat/a", "old"]]));
  page().show({ storage });
  type("new");
  await rest();
  expect(field().value).toBe("new");
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
