import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createClient } from "@sluice/core";
import { createEmulator } from "@sluice/emulator";
import { GatewayProvider } from "@sluice/react";
import { cleanup, fireEvent, render, screen } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";
import { Chat } from "../../examples/chat/chat/chat.tsx";
import { PromptForm } from "../../labs/registry/components/sluice/prompt-form.tsx";

const root = join(import.meta.dirname, "../..");

afterEach(() => {
  cleanup();
  sessionStorage.clear();
});

/** Keys that do not send: each types something, or belongs to an input method. */
const others = [
  ["Shift+Enter", { key: "Enter", shiftKey: true }],
  ["Enter while an input method composes", { key: "Enter", isComposing: true }],
  ["a letter", { key: "a" }],
] as const;

function openChat(speed = Number.POSITIVE_INFINITY) {
  const emulator = createEmulator({ speed });
  const client = createClient({ ...emulator.clientOptions, baseURL: "https://gateway.test" });
  render(
    <GatewayProvider client={client}>
      <Chat models={["delta-5.3"]} />
    </GatewayProvider>,
  );
  const field = screen.getByRole<HTMLTextAreaElement>("textbox", { name: "Message" });
  return { emulator, field };
}

test("Enter sends in the chat of the templates, and empties the field", async () => {
  const { field } = openChat();
  fireEvent.change(field, { target: { value: "What is a reef?" } });
  expect(fireEvent.keyDown(field, { key: "Enter" })).toBe(false);
  await vi.waitFor(() => expect(screen.getAllByRole("listitem").length).toBeGreaterThanOrEqual(2));
  expect(screen.getAllByRole("listitem")[0]?.textContent).toBe("What is a reef?");
  expect(field.value).toBe("");
  await screen.findByRole("button", { name: "Send" });
});

test.each(others)("%s sends nothing in the chat of the templates", (_, init) => {
  const { field } = openChat();
  fireEvent.change(field, { target: { value: "What is a reef?" } });
  expect(fireEvent.keyDown(field, init)).toBe(true);
  expect(screen.queryAllByRole("listitem")).toEqual([]);
  expect(field.value).toBe("What is a reef?");
});

test("Enter keeps the text while the response before is coming", async () => {
  const { field } = openChat(1);
  for (const text of ["[[stall]]", "And then?"]) {
    fireEvent.change(field, { target: { value: text } });
    fireEvent.keyDown(field, { key: "Enter" });
    await screen.findByRole("button", { name: "Stop" });
  }
  expect(field.value).toBe("And then?");
  fireEvent.click(screen.getByRole("button", { name: "Stop" }));
  await screen.findByRole("button", { name: "Send" });
});

test("Enter sends a prompt for images and videos, once and not while one is made", () => {
  const onSubmit = vi.fn();
  const estimate = { amount: 1, min: 1, currency: "EUR", missing: [] } as never;
  const form = (props: object) => (
    <PromptForm
      label="New image"
      placeholder="Describe an image"
      prompt="A reef"
      onPrompt={() => {}}
      onSubmit={onSubmit}
      isBusy={false}
      estimate={estimate}
      error={undefined}
      {...props}
    />
  );
  const { rerender } = render(form({}));
  const press = (init: object) => fireEvent.keyDown(screen.getByRole("textbox"), init);
  press({ key: "Enter" });
  expect(onSubmit).toHaveBeenCalledTimes(1);
  press({ key: "Enter", repeat: true });
  for (const [, init] of others) press(init);
  rerender(form({ isBusy: true }));
  press({ key: "Enter" });
  expect(onSubmit).toHaveBeenCalledTimes(1);
});

test("every field of several lines that is shown to be copied has a handler of its keys", () => {
  const paths = globSync(
    [
      "*.md",
      "docs/**/*.md",
      "packages/*/*.md",
      "packages/*/src/**/*.{ts,tsx}",
      "packages/create-sluice/templates/**/*.tsx",
      "examples/**/*.{md,tsx,vue,svelte}",
      "labs/**/*.{md,tsx}",
    ],
    { cwd: root, exclude: ["**/{node_modules,dist,test}/**", "docs/reference/**"] },
  );
  const fields = paths.flatMap((path) =>
    [...readFileSync(join(root, path), "utf8").matchAll(/<textarea\b[\s\S]*?(?:\/>|<\/textarea>)/g)].map(
      ([text]) => ({ path, text }),
    ),
  );
  // the fields of the templates and of the components are found
  const found = fields.map(({ path }) => path);
  for (const known of ["examples/chat/chat/chat.tsx", "labs/registry/components/sluice/composer.tsx"])
    expect(found).toContain(known);
  const silent = fields.filter(({ text }) => !/onKeyDown|onkeydown|@keydown/.test(text));
  // a field of a form of many, where Enter begins a line
  expect(silent.map(({ path }) => path)).toEqual(["labs/registry/components/sluice/fields.tsx"]);
});
