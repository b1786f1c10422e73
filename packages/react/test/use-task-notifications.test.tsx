import { GatewayProvider } from "@sluice/react";
import { type TaskNotificationOptions, useTaskNotifications } from "@sluice/react/notifications";
import { act, fireEvent, render, screen, waitFor } from "@testing-library/react";
import { renderToString } from "react-dom/server";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { clientOf, settled, stoppedClock } from "../../core/test/support/gateway.js";

const KEY = `B${"A".repeat(86)}`;
const ENDPOINT = "https://fcm.googleapis.com/x";
const keyBytes = () => Uint8Array.from(atob(KEY), (letter) => letter.charCodeAt(0)).buffer;

/** A browser with notifications and push, which counts what is asked of it. */
function openBrowser({
  answer = "granted" as NotificationPermission,
  withPush = true,
  pushService = Promise.resolve(),
  unsubscribing = async () => {},
  withWorker = true,
  key = undefined as ArrayBuffer | null | undefined,
} = {}) {
  const asked: string[] = [];
  const unsubscribe = async () => {
    asked.push("unsubscribe");
    await unsubscribing();
    subscription = null;
  };
  let subscription: object | null =
    key === undefined ? null : { options: { applicationServerKey: key }, unsubscribe };
  const pushManager = {
    getSubscription: async () => subscription,
    async subscribe(options: object) {
      asked.push(`subscribe ${JSON.stringify(options)}`);
      await pushService;
      subscription = {
        endpoint: ENDPOINT,
        options: { applicationServerKey: keyBytes() },
        toJSON: () => ({ endpoint: ENDPOINT, keys: { p256dh: KEY, auth: "a" } }),
        unsubscribe,
      };
      return subscription;
    },
  };
  const Notification = {
    permission: "default" as NotificationPermission,
    async requestPermission() {
      asked.push("permission");
      Notification.permission = answer;
      return answer;
    },
  };
  vi.stubGlobal("Notification", Notification);
  if (withPush) vi.stubGlobal("PushManager", {});
  const register = async (path: string) => void asked.push(`register ${path}`);
  const serviceWorker = {
    register,
    ready: Promise.resolve({ pushManager }),
    getRegistration: async () => ({ pushManager }),
  };
  if (withWorker)
    Object.defineProperty(navigator, "serviceWorker", { value: serviceWorker, configurable: true });
  return asked;
}

function Notify(options: TaskNotificationOptions) {
  const { isSupported, permission, isEnabled, mode, error, enable, disable } = useTaskNotifications(options);
  return (
    <section>
      <output>{`${isSupported} ${permission} ${isEnabled} ${mode} ${error?.message}`}</output>
      <button type="button" onClick={() => void enable()}>
        enable
      </button>
      <button type="button" onClick={() => void disable()}>
        disable
      </button>
    </section>
  );
}

function show(status = 200, held = Promise.resolve(), options: TaskNotificationOptions = {}, scope = "") {
  const clock = stoppedClock();
  const { client, requests } = clientOf(
    async ({ method }) => {
      await held;
      return method === "DELETE"
        ? new Response(null, { status: 204 })
        : Response.json(status === 200 ? { publicKey: KEY, id: "s-1" } : { error: {} }, { status });
    },
    { clock, ...(scope && { scope }) },
  );
  const page = render(
    <GatewayProvider client={client}>
      <Notify {...options} />
    </GatewayProvider>,
  );
  return { ...page, client, clock, requests };
}

const press = (name: string) => fireEvent.click(screen.getByRole("button", { name }));
const text = () => screen.getByRole("status").textContent;

beforeEach(() => localStorage.clear());
afterEach(() => {
  vi.unstubAllGlobals();
  Reflect.deleteProperty(navigator, "serviceWorker");
});

test("nothing is asked before a click; then this browser is subscribed, and the proxy has the subscription", async () => {
  const asked = openBrowser();
  const { requests } = show();
  expect([text(), asked, requests]).toEqual(["true default false undefined undefined", [], []]);
  press("enable");
  await waitFor(() => expect(text()).toBe("true granted true push undefined"));
  const subscribed = JSON.stringify({ userVisibleOnly: true, applicationServerKey: KEY });
  expect(asked).toEqual(["permission", "register /notifications.js", `subscribe ${subscribed}`]);
  expect(requests.map(({ method, url }) => [method, url])).toEqual([
    ["GET", "https://gateway.test/v1/notifications"],
    ["POST", "https://gateway.test/v1/notifications"],
  ]);
  expect(await requests[1]?.json()).toEqual({ endpoint: ENDPOINT, keys: { p256dh: KEY, auth: "a" } });
});

test("a user who refuses is not subscribed, and no request is sent", async () => {
  const asked = openBrowser({ answer: "denied" });
  const { requests } = show();
  press("enable");
  await waitFor(() => expect(text()).toBe("true denied false undefined undefined"));
  expect([asked, requests]).toEqual([["permission"], []]);
});

test("The same subscription is sent again after a reload, and nothing is asked", async () => {
  const asked = openBrowser();
  const first = show();
  press("enable");
  await waitFor(() => expect(text()).toContain("push"));
  first.unmount();
  asked.length = 0;
  const { requests } = show();
  // on at once: a push service may take seconds
  expect(text()).toBe("true granted true undefined undefined");
  await waitFor(() => expect(text()).toBe("true granted true push undefined"));
  expect(asked).toEqual(["register /notifications.js"]);
  expect(requests.map(({ method }) => method)).toEqual(["GET", "POST"]);
});

test("disabling ends the subscription in the browser and at the proxy, also after a reload", async () => {
  const asked = openBrowser();
  const { requests, unmount } = show();
  press("enable");
  await waitFor(() => expect(text()).toContain("push"));
  press("disable");
  const hash = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(ENDPOINT)));
  const id = [...hash].map((byte) => byte.toString(16).padStart(2, "0")).join("");
  await waitFor(() => expect(requests.at(-1)?.url).toBe(`https://gateway.test/v1/notifications/${id}`));
  expect([requests.at(-1)?.method, asked.at(-1), text()]).toEqual([
    "DELETE",
    "unsubscribe",
    "true granted false undefined undefined",
  ]);
  unmount();
  requests.length = 0;
  show();
  expect([text(), requests]).toEqual(["true granted false undefined undefined", []]);
});

test("A browser that can't end its subscription says so, and notifications are off", async () => {
  const unsubscribing = () => Promise.reject(new Error("the push service is away"));
  openBrowser({ unsubscribing });
  const { requests } = show();
  press("enable");
  await waitFor(() => expect(text()).toContain("push"));
  press("disable");
  await waitFor(() => expect(text()).toBe("true granted false undefined the push service is away"));
  expect(requests.map(({ method }) => method)).not.toContain("DELETE");
  press("enable");
  await waitFor(() => expect(text()).toBe("true granted true push undefined"));
});

test("disabling while this browser is being subscribed leaves no subscription", async () => {
  const asked = openBrowser();
  let answer: () => void = () => {};
  const held = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const { requests } = show(200, held);
  press("enable");
  await waitFor(() => expect(requests.map(({ method }) => method)).toEqual(["GET"]));
  press("disable");
  answer();
  await waitFor(() => expect(requests.map(({ method }) => method)).toEqual(["GET", "POST", "DELETE"]));
  expect([asked.at(-1), text()]).toEqual(["unsubscribe", "true granted false undefined undefined"]);
});

test.each([
  ["the browser has no push", { withPush: false }, 200, "undefined"],
  ["the browser has no service workers", { withWorker: false }, 200, "undefined"],
  ["the proxy has no push", {}, 404, "undefined"],
  ["the proxy fails", {}, 503, "the proxy refused the notifications with 503; try again later"],
])("where %s, the page notifies while it is open", async (_, browser, status, error) => {
  openBrowser(browser);
  show(status);
  press("enable");
  await waitFor(() => expect(text()).toBe(`true granted true page ${error}`));
  press("disable");
  await act(() => settled());
  expect(text()).toBe("true granted false undefined undefined");
});

test.each([
  ["another key", new Uint8Array([1, 2, 3]).buffer],
  ["no key", null],
])("A subscription with %s is replaced, because it belongs to another sender", async (_, key) => {
  const asked = openBrowser({ key });
  show();
  press("enable");
  await waitFor(() => expect(text()).toBe("true granted true push undefined"));
  expect(asked.map((what) => what.split(" ")[0])).toEqual([
    "permission",
    "register",
    "unsubscribe",
    "subscribe",
  ]);
});

test("The service worker is the one that the app names", async () => {
  const asked = openBrowser();
  show(200, undefined, { worker: "/sw.js" });
  press("enable");
  await waitFor(() => expect(asked).toContain("register /sw.js"));
  await waitFor(() => expect(text()).toContain("push"));
});

test("A server renders that nothing is known", () => {
  const { client } = clientOf(() => new Response());
  const html = renderToString(
    <GatewayProvider client={client}>
      <Notify />
    </GatewayProvider>,
  );
  expect(html).toContain("<output>false unsupported false undefined undefined</output>");
});

test("A permission that was taken back ends the notifications at the next page load", async () => {
  openBrowser();
  const { unmount } = show();
  press("enable");
  await waitFor(() => expect(text()).toContain("push"));
  unmount();
  Notification.requestPermission = async () => "denied";
  Object.assign(Notification, { permission: "denied" });
  const { requests } = show();
  await act(() => settled());
  expect([text(), requests]).toEqual(["true denied false undefined undefined", []]);
});

test("Where the storage is refused, nothing is on at first, and a click lasts as long as the page", async () => {
  openBrowser();
  const { unmount } = show();
  press("enable");
  await waitFor(() => expect(text()).toContain("push"));
  unmount();
  vi.stubGlobal("localStorage", undefined);
  show();
  expect(text()).toBe("true granted false undefined undefined");
  press("enable");
  await waitFor(() => expect(text()).toBe("true granted true push undefined"));
  press("disable");
  expect(text()).toBe("true granted false undefined undefined");
  await act(() => settled());
});

test("What a client forgets includes its notifications, and not those of another one", async () => {
  const asked = openBrowser();
  const { client, unmount, requests } = show(200, undefined, {}, "ada");
  press("enable");
  await waitFor(() => expect(text()).toContain("push"));
  unmount();
  const { client: other } = clientOf(() => new Response(), { scope: "grace" });
  const page = render(
    <GatewayProvider client={other}>
      <Notify />
    </GatewayProvider>,
  );
  await act(() => other.forget());
  await act(() => settled());
  expect(asked).not.toContain("unsubscribe");
  page.unmount();
  render(
    <GatewayProvider client={client}>
      <Notify />
    </GatewayProvider>,
  );
  await waitFor(() => expect(text()).toContain("push"));
  await act(() => client.forget());
  await waitFor(() => expect(requests.at(-1)?.method).toBe("DELETE"));
  expect(text()).toBe("true granted false undefined undefined");
});

test("a browser without notifications is not asked", async () => {
  vi.stubGlobal("Notification", undefined);
  const { requests } = show();
  press("enable");
  expect([text(), requests]).toEqual(["false unsupported false undefined undefined", []]);
});

describe("a push service that does not answer", () => {
  const openSilentBrowser = () => {
    let answer = () => {};
    const pushService = new Promise<void>((resolve) => {
      answer = resolve;
    });
    return { asked: openBrowser({ pushService }), answer };
  };
  const silent = "true granted true page the browser's push service did not answer within 5000 ms";

  test("leaves the notifications to the page after 5 seconds, and has them once it answers", async () => {
    const { asked, answer } = openSilentBrowser();
    const { clock } = show();
    press("enable");
    await waitFor(() => expect(asked.at(-1)).toContain("subscribe"));
    await act(() => clock.advance(4999));
    expect(text()).toBe("true granted false undefined undefined");
    await act(() => clock.advance(1));
    await waitFor(() => expect(text()).toBe(silent));
    answer();
    await waitFor(() => expect(text()).toBe("true granted true push undefined"));
  });

  test("keeps no subscription that comes after the user has disabled it", async () => {
    const { asked, answer } = openSilentBrowser();
    const { clock, requests } = show();
    press("enable");
    await waitFor(() => expect(asked.at(-1)).toContain("subscribe"));
    await act(() => clock.advance(5000));
    await waitFor(() => expect(text()).toBe(silent));
    press("disable");
    await act(() => settled());
    answer();
    await waitFor(() => expect(requests.at(-1)?.method).toBe("DELETE"));
    expect([asked.at(-1), text()]).toEqual(["unsubscribe", "true granted false undefined undefined"]);
  });
});
