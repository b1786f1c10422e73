import { render } from "@testing-library/react";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { downloadMedia } from "@/components/sluice/download";
import { useLeaveWarning } from "@/components/sluice/use-leave-warning";

/** Files that the page saved, by name. */
const saved: string[] = [];

// the address of a saved file ends a minute later
beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout"] }));
afterEach(() => {
  vi.useRealTimers();
  saved.length = 0;
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

function server(respond: () => Response | Promise<Response>) {
  const fetch = vi.fn(async (_: string, _init?: RequestInit) => respond());
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

test("a readable file is saved under a name made of its prompt", async () => {
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

test("A long name is cut to 60 characters, and ends with no dash", async () => {
  server(file("image/png"));
  await downloadMedia(url, "a".repeat(61));
  await downloadMedia(url, `${"b".repeat(59)} reef`);
  expect(saved).toEqual([`${"a".repeat(60)}.png`, `${"b".repeat(59)}.png`]);
});

test("The address of a saved file works for a minute, since some browsers save late, and is then revoked", async () => {
  server(file("image/png"));
  const revoked: string[] = [];
  vi.spyOn(URL, "createObjectURL").mockReturnValue("blob:reef");
  vi.spyOn(URL, "revokeObjectURL").mockImplementation((address) => void revoked.push(address));
  vi.useFakeTimers();
  await downloadMedia(url, "A reef");
  vi.advanceTimersByTime(59_999);
  expect(revoked).toEqual([]);
  vi.advanceTimersByTime(1);
  expect(revoked).toEqual(["blob:reef"]);
});

test("a file that CORS does not let the page read opens in a tab", async () => {
  const { open } = server(() => Promise.reject(new TypeError("Failed to fetch")));
  expect(await downloadMedia(url, "A reef")).toBe("opened");
  expect(open).toHaveBeenCalledWith(url, "_blank", "noopener,noreferrer");
});

test("a URL that is not HTTP is not opened", async () => {
  const { open } = server(() => Promise.reject(new TypeError("Failed to fetch")));
  expect(await downloadMedia("javascript:alert(1)", "A reef")).toBe("failed");
  expect(open).not.toHaveBeenCalled();
});

test.each([403, 404, 410])("A link whose server responds with %i is expired", async (status) => {
  server(() => new Response(null, { status }));
  expect(await downloadMedia(url, "A reef")).toBe("expired");
  expect(saved).toEqual([]);
});

test.each([400, 401, 429, 500, 503])(
  "A download that gets %i has failed: the file may still be there",
  async (status) => {
    server(() => new Response(null, { status }));
    expect(await downloadMedia(url, "A reef")).toBe("failed");
    expect(saved).toEqual([]);
  },
);

test("A download without a network has failed, and opens no tab", async () => {
  const { open } = server(() => Promise.reject(new TypeError("Failed to fetch")));
  vi.spyOn(navigator, "onLine", "get").mockReturnValue(false);
  expect(await downloadMedia(url, "A reef")).toBe("failed");
  expect(open).not.toHaveBeenCalled();
});

test("A download that breaks off in mid-file opens the link in a tab, and saves nothing", async () => {
  const { open } = server(() => {
    const body = new ReadableStream({
      start: (controller) => controller.error(new TypeError("network error")),
    });
    return new Response(body);
  });
  expect(await downloadMedia(url, "A reef")).toBe("opened");
  expect([saved, open.mock.calls.length]).toEqual([[], 1]);
});

test("the browser asks before the page is left, while there is something to lose", () => {
  const isConfirmed = () => {
    const event = new Event("beforeunload", { cancelable: true });
    window.dispatchEvent(event);
    // older browsers read `returnValue` alone
    return event.defaultPrevented && (event as BeforeUnloadEvent).returnValue === true;
  };
  const { rerender, unmount } = render(<Page isActive={false} />);
  expect(isConfirmed()).toBe(false);
  rerender(<Page isActive />);
  expect(isConfirmed()).toBe(true);
  unmount();
  expect(isConfirmed()).toBe(false);
});
