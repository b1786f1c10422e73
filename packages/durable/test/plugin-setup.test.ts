import { admin, idempotency, resumableStreams } from "@sluice/durable";
import { cloudflareHost, type DurableObjectNamespace, durableObject } from "@sluice/durable/cloudflare";
import { nodeHost } from "@sluice/durable/node";
import { createProxy, type Host, type ProxyPlugin } from "@sluice/worker-proxy";
import { expect, onTestFinished, test } from "vitest";
import { KEY } from "../../worker-proxy/test/support/key.js";

function openProxy(host: Host<unknown>, plugins: readonly ProxyPlugin<unknown>[]) {
  return createProxy<unknown>({
    baseURL: "https://gateway.example",
    apiKey: () => KEY,
    authenticate: () => ({ id: "ann" }),
    origins: [],
    models: ["delta-5.3"],
    host,
    plugins: [...plugins],
  });
}

function openHost() {
  const host = nodeHost({ file: ":memory:", env: {} });
  onTestFinished(() => host.close(100));
  return host;
}

test.each([
  ["resumableStreams", () => resumableStreams()],
  ["idempotency", () => idempotency()],
] as const)("%s of one proxy is refused by another one, whose gateway it would ask", (name, create) => {
  const plugin = create();
  openProxy(openHost(), [plugin]);
  expect(() => openProxy(openHost(), [plugin])).toThrow(`${name}: belongs to one proxy`);
});

test("a plugin that is listed twice is refused", () => {
  const plugin = resumableStreams();
  expect(() => openProxy(openHost(), [plugin, plugin])).toThrow(/belongs to one proxy/);
});

test("a proxy refuses the cloudflareHost of another proxy, whose objects would use another gateway", () => {
  const host = cloudflareHost(() => ({
    idFromName: () => "",
    get: () => ({ fetch: () => new Promise(() => {}) }),
  }));
  openProxy(host, [resumableStreams()]);
  expect(() => openProxy(host, [resumableStreams()])).toThrow(/host: belongs to one proxy/);
});

/** The bindings of a Worker with two classes. */
function createBindings() {
  const bind = (name: string) => ({
    idFromName: (key: string) => `${name} ${key}`,
    get: () => ({ fetch: async () => Response.json({ output: name }) }),
  });
  return { ONE: bind("one"), TWO: bind("two") };
}

type Bindings = ReturnType<typeof createBindings>;

/** Creates a proxy whose host reads a binding. Returns its class, and a function that calls its host. */
function openClass(read: (env: Bindings) => DurableObjectNamespace, hasClass = true) {
  const host = cloudflareHost<unknown>(read as never);
  let bind: ReturnType<typeof host.open> | undefined;
  const watched: Host<unknown> = Object.assign(host, { open: keepBind(host.open) });
  const proxy = openProxy(watched, [resumableStreams()]);
  const step = { name: "any", kind: "read", run: async () => null } as const;
  return {
    run: (env: Bindings) => bind?.(env).run("key", step, null),
    class: hasClass ? durableObject(proxy) : undefined,
  };

  function keepBind(open: typeof host.open): typeof host.open {
    return (setup) => {
      bind = open(setup);
      return bind;
    };
  }
}

const WRONG_CLASS = { details: { problem: expect.stringContaining("give each proxy a class") } };

test("proxies of one Worker each reach their own class, in whichever order they are created", async () => {
  const env = createBindings();
  const [secondClass, firstClass] = [openClass((env) => env.TWO), openClass((env) => env.ONE)];
  expect([await firstClass.run(env), await secondClass.run(env)]).toEqual(["one", "two"]);
});

test("a proxy without a class, and two with one binding, are refused before anything is sent", async () => {
  const env = createBindings();
  await expect(openClass((env) => env.ONE, false).run(env)).rejects.toMatchObject(WRONG_CLASS);
  const both = [openClass((env) => env.TWO), openClass((env) => env.TWO)];
  for (const proxyClass of both) await expect(proxyClass.run(env)).rejects.toMatchObject(WRONG_CLASS);
});

test("an object refuses a request by the binding of another class", async () => {
  const { class: One } = openClass((env) => env.ONE);
  const state = {
    id: "two key",
    storage: {},
    blockConcurrencyWhile: async () => {},
    waitUntil: () => {},
  };
  const object = One && new One(state as never, createBindings());
  const body = JSON.stringify({ key: "key", name: "any", input: null });
  const response = await object?.fetch(new Request("https://object.invalid/run", { method: "POST", body }));
  expect(await response?.text()).toContain("give each proxy a class");
});

test("admin without a plugin that stores data is refused", () => {
  expect(() => openProxy(openHost(), [admin({ isOperator: () => true })])).toThrow(/^admin: no other plugin/);
});

test("a host that is no host is refused by its name", () => {
  expect(() => openProxy(nodeHost as never, [resumableStreams()])).toThrow(/^host: give what/);
});
