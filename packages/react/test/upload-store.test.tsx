import { createUploadStore } from "@sluice/media";
import { useStore } from "@sluice/react";
import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { useEffect, useState } from "react";
import { expect, test } from "vitest";
import { createTestClient } from "../../core/test/support/gateway.js";
import { createRefusal, createUploads } from "../../media/test/support/uploads.js";

const file = new Blob([new Uint8Array(1000)]);

function Upload({ client }: { client: ReturnType<typeof createTestClient>["client"] }) {
  const [store] = useState(() => createUploadStore(client));
  useEffect(() => store.stop, [store]);
  const { status, progress, data, error } = useStore(store);
  const isDone = useStore(store, (state) => state.status === "success");
  return (
    <section>
      <output>{isDone ? "done" : status}</output>
      <p>{data?.url ?? error?.message ?? String(progress)}</p>
      <button type="button" onClick={() => void store.upload(file)}>
        upload
      </button>
      <button type="button" onClick={store.reset}>
        reset
      </button>
    </section>
  );
}

function renderUpload(uploads = createUploads()) {
  const { client } = createTestClient((request) => uploads.respond(request));
  return { ...uploads, ...render(<Upload client={client} />) };
}

const press = (name: string) => fireEvent.click(screen.getByRole("button", { name }));
const text = () => [screen.getByRole("status").textContent, screen.getByRole("paragraph").textContent];

test("a component uploads a file, shows its address, and forgets it", async () => {
  const { log } = renderUpload();
  expect([text(), log]).toEqual([["idle", "undefined"], []]);
  press("upload");
  expect(text()).toEqual(["pending", "0"]);
  await waitFor(() => expect(text()).toEqual(["done", "https://app.test/v1/media/file-1"]));
  press("reset");
  expect(text()).toEqual(["idle", "undefined"]);
});

test("a component shows the rejection of a file", async () => {
  const { failures } = renderUpload();
  failures.push(() => createRefusal(415, "file_type"));
  press("upload");
  await waitFor(() => expect(text()).toEqual(["error", "file_type"]));
});

test("an upload is stopped when its component is gone", async () => {
  let signal: AbortSignal | undefined;
  const { client } = createTestClient((request) => {
    signal = request.signal;
    return new Promise(() => {});
  });
  const { unmount } = render(<Upload client={client} />);
  press("upload");
  await waitFor(() => expect(signal).toBeDefined());
  act(() => unmount());
  expect(signal?.aborted).toBe(true);
});
