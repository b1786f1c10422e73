import { downloadMedia, useLeaveWarning } from "@sluice/react/app";
import { render } from "@testing-library/react";
import { afterEach, expect, test, vi } from "vitest";

/** Files that the page saved, by name. */
const saved: string[] = [];

afterEach(() => {
  saved.length = 0;
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

function server(answer: () => Response | Promise<Response>) {
  const fetch = vi.fn(async (_: string, init?: RequestInit) => {
    init?.signal?.throwIfAborted();
    return answer();
  });
  const open = vi.fn();
  vi.stubGlobal("fetch", fetch);
  vi.stubGlobal("open", open);
  vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (this: HTMLAnchorElement) {
    saved.push(this.download);
  });
  return { fetch, open };
}

function Page({ isActive }: { isActive: boolean }) {
  useLeaveWarning(isActive);
  return null;
}

const file = (type: string) => () => new Response("bytes", { headers: { "content-type": type } });
const url = "https://cdn.test/files/1.webp?signature=1";

test("a file that may be read is saved under a name made of its prompt", async () => {
  const { fetch } = server(file("image/png"));
  expect(await downloadMedia(url, "A reef, at dawn!")).toBe("saved");
  expect(saved).toEqual(["a-reef-at-dawn.png"]);
  expect(fetch.mock.calls[0]?.[1]).toMatchObject({ credentials: "omit", referrerPolicy: "no-referrer" });
});

test("a file of unknown type keeps the extension of its address, and has a name in any case", async () => {
  server(file("application/octet-stream"));
  await downloadMedia(url, "…");
  await downloadMedia("https://cdn.test/file", "珊瑚礁");
  expect(saved).toEqual(["untitled.webp", "珊瑚礁"]);
});

test("a file that no page may read opens in a tab", async () => {
  const { open } = server(() => Promise.reject(new TypeError("Failed to fetch")));
  expect(await downloadMedia(url, "A reef")).toBe("opened");
  expect(open).toHaveBeenCalledWith(url, "_blank", "noopener,noreferrer");
});

test("an address that is none of the web is not opened", async () => {
  const { open } = server(() => Promise.reject(new TypeError("Failed to fetch")));
  expect(await downloadMedia("javascript:alert(1)", "A reef")).toBe("expired");
  expect(open).not.toHaveBeenCalled();
});

test("a link that does not work any more is expired", async () => {
  server(() => new Response(null, { status: 403 }));
  expect(await downloadMedia(url, "A reef")).toBe("expired");
  expect(saved).toEqual([]);
});

test("an abort rejects, and opens nothing", async () => {
  const { open } = server(file("image/png"));
  await expect(downloadMedia(url, "A reef", { signal: AbortSignal.abort() })).rejects.toThrow("abort");
  expect(open).not.toHaveBeenCalled();
});

test("the browser asks before the page is left, while there is something to lose", () => {
  const asks = () => {
    const event = new Event("beforeunload", { cancelable: true });
    window.dispatchEvent(event);
    return event.defaultPrevented;
  };
  const { rerender, unmount } = render(<Page isActive={false} />);
  expect(asks()).toBe(false);
  rerender(<Page isActive />);
  expect(asks()).toBe(true);
  unmount();
  expect(asks()).toBe(false);
});
