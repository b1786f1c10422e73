import { type BatchOptions, memoryStorage, type RecordStorage } from "@sluice/core";
import { GatewayProvider, useBatch } from "@sluice/react";
import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { StrictMode } from "react";
import { renderToString } from "react-dom/server";
import { expect, test } from "vitest";
import { picture, promptOf, reefs } from "../../core/test/support/batches.js";
import { clientOf } from "../../core/test/support/gateway.js";

function Reefs({
  count = 2,
  ...options
}: Partial<BatchOptions> & { count?: number; storage: RecordStorage }) {
  const { status, done, total, unknown, run, items } = useBatch(reefs(count), { id: "reefs", ...options });
  return (
    <>
      <output>{`${status} ${done}/${total} ${unknown}`}</output>
      <p>{items("done").map(({ id }) => id)}</p>
      <button type="button" onClick={() => void run()}>
        run
      </button>
    </>
  );
}

function openedPage() {
  const prompts: string[] = [];
  const { client } = clientOf(async (request) => {
    const prompt = await promptOf(request);
    prompts.push(prompt);
    return picture(prompt);
  });
  const page = (app: React.ReactNode) => (
    <StrictMode>
      <GatewayProvider client={client}>{app}</GatewayProvider>
    </StrictMode>
  );
  return { prompts, page };
}

const shown = () => screen.getByRole("status").textContent;
const press = () => act(async () => fireEvent.click(screen.getByRole("button")));

test("a batch sends nothing before it is run, and shows its progress and its results", async () => {
  const { prompts, page } = openedPage();
  render(page(<Reefs storage={memoryStorage()} />));
  await waitFor(() => expect(shown()).toBe("idle 0/2 0"));
  expect(prompts).toEqual([]);
  await press();
  await waitFor(() => expect(shown()).toBe("ended 2/2 0"));
  expect([screen.getByRole("paragraph").textContent, prompts]).toEqual(["01", ["reef 0", "reef 1"]]);
});

test("a page that is opened again shows what is done, and sends only the rest", async () => {
  const storage = memoryStorage();
  const first = openedPage();
  const { unmount } = render(first.page(<Reefs storage={storage} />));
  await press();
  await waitFor(() => expect(shown()).toBe("ended 2/2 0"));
  unmount();
  const again = openedPage();
  render(again.page(<Reefs storage={storage} count={3} />));
  await waitFor(() => expect(shown()).toBe("idle 2/3 0"));
  await press();
  await waitFor(() => expect(shown()).toBe("ended 3/3 0"));
  expect(again.prompts).toEqual(["reef 2"]);
});

test("a run goes on while no component shows it, and gives its results to the newest one", async () => {
  const storage = memoryStorage();
  const { page, prompts } = openedPage();
  const given: string[] = [];
  const open: (() => void)[] = [];
  const hold =
    (name: string) =>
    ({ id }: { id: string }) => {
      given.push(`${name} ${id}`);
      return new Promise<void>((resolve) => open.push(resolve));
    };
  const { unmount } = render(page(<Reefs storage={storage} limit={1} onResult={hold("first")} />));
  await press();
  await waitFor(() => expect(open.length).toBe(1));
  unmount();
  render(page(<Reefs storage={storage} limit={1} onResult={hold("second")} />));
  await waitFor(() => expect(shown()).toBe("running 0/2 0"));
  for (let nth = 0; nth < 2; nth += 1) {
    await waitFor(() => expect(open.length).toBe(1));
    await act(async () => open.pop()?.());
  }
  await waitFor(() => expect(shown()).toBe("ended 2/2 0"));
  expect([given, prompts.length]).toEqual([["first 0", "second 1"], 2]);
});

test("a server renders a batch that was not read", () => {
  const { page } = openedPage();
  expect(renderToString(page(<Reefs storage={memoryStorage()} />))).toContain("idle 0/0 0");
});
