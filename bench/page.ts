import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { fileURLToPath } from "node:url";
import { chromium, type Page } from "playwright";
import { build, type Rollup } from "vite";
import { chromiumFlags, findChromium } from "../scripts/chromium.ts";

/** A page in Chromium with a program of this folder. */
export interface BenchPage {
  readonly page: Page;
  /** Calls the `run` that the program has put on `window`. */
  run<Result>(...given: readonly unknown[]): Promise<Result>;
  close(): Promise<void>;
}

/** Counts the time of a page's main thread. */
export interface MainThread {
  /** CPU time of the page so far, in milliseconds. Other programs do not count. */
  ms(): Promise<number>;
  /** Megabytes of the browser's own objects for the page: elements and their layout. */
  layoutMB(): Promise<number>;
  close(): Promise<void>;
}

/** Opens the counter of a page's main thread. */
export async function openMainThread(page: Page): Promise<MainThread> {
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.setTimeDomain", { timeDomain: "threadTicks" });
  await session.send("Performance.enable");
  return {
    async ms() {
      const { metrics } = await session.send("Performance.getMetrics");
      return 1000 * (metrics.find((metric) => metric.name === "TaskDuration")?.value ?? Number.NaN);
    },
    async layoutMB() {
      const { embedderHeapUsedSize } = await session.send("Runtime.getHeapUsage");
      return embedderHeapUsedSize / 2 ** 20;
    },
    close: () => session.detach(),
  };
}

declare function run(...given: readonly unknown[]): Promise<unknown>;

/** Builds a program as for production: one module, with React once. */
export async function buildProgram(entry: string): Promise<string> {
  const root = fileURLToPath(new URL(".", import.meta.url));
  const { output } = (await build({
    configFile: false,
    root,
    logLevel: "error",
    define: {
      "process.env.NODE_ENV": '"production"',
      "process.env.BENCH_ROUNDS": JSON.stringify(process.env["BENCH_ROUNDS"] ?? ""),
    },
    resolve: { dedupe: ["react", "react-dom"] },
    build: {
      write: false,
      rolldownOptions: {
        input: root + entry,
        preserveEntrySignatures: "strict",
        output: { codeSplitting: false },
      },
    },
  })) as Rollup.RollupOutput;
  return output[0].code;
}

/** Opens a page with the program. `respond` handles the requests of the page. */
export async function openPage(
  entry: string,
  respond: RequestListener = (_, response) => response.end(),
): Promise<BenchPage> {
  const executablePath = findChromium();
  if (!executablePath) throw new Error("no Chromium here: install one, or set CHROMIUM to its path");
  const script = (await buildProgram(entry)).replaceAll("</script", "<\\/script");
  const server = createServer((request, response) => {
    if (request.method === "POST" || request.url?.startsWith("/v1/")) return respond(request, response);
    response.setHeader("content-type", "text/html; charset=utf-8");
    response.end(`<!doctype html><title>bench</title><body><script type="module">${script}</script>`);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const flags = [...chromiumFlags, "--js-flags=--expose-gc", "--enable-precise-memory-info"];
  const browser = await chromium.launch({ executablePath, args: flags });
  const page = await browser.newPage();
  page.on("pageerror", (error) => console.error(error));
  await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
  return {
    page,
    run: async <Result>(...given: readonly unknown[]) =>
      (await page.evaluate((all) => run(...all), given)) as Result,
    async close() {
      await browser.close();
      server.close();
      server.closeAllConnections();
    },
  };
}
