import { copyFileSync, existsSync } from "node:fs";
import { createProxy, type JobEvent, type ProxyEvent, type ProxyPlugin, videos } from "@sluice/worker-proxy";
import { type BoundHost, definePlugin, reading } from "@sluice/worker-proxy/plugin";
import { onTestFinished } from "vitest";
import { createRequest } from "../../../worker-proxy/test/support/in-process.js";
import type { Random } from "../../../worker-proxy/test/support/random.js";
import { nodeHost } from "../../src/host/node.js";
import type { DeadLetter } from "../../src/videos/dead-letters.js";
import type { EndedTask } from "../../src/videos/ends.js";
import { videoWatch } from "../../src/videos/video-watch.js";
import { webhook } from "../../src/webhooks/webhook.js";
import { openFile } from "./database-file.js";
import { createDeadLetterOperations } from "./dead-letters.js";
import { type SimulatedGateway, simulateGateway } from "./simulated-gateway.js";

export const USER = "ann";
const SECRET = `whsec_${btoa("a secret of the app, 32 and more")}`;

interface Webhook {
  readonly id: string;
  readonly type: string;
  readonly task: string;
  readonly hasFile: boolean;
  /** True if the app responded with 2xx. */
  readonly isAccepted: boolean;
}

/** One process of the proxy. */
interface Process {
  readonly plugin: ProxyPlugin<unknown>;
  request(more: Parameters<typeof createRequest>[0]): Promise<Response>;
  /** Crashes: work in progress no longer reaches a row, an app or the gateway. Returns the database file that it leaves. */
  end(): string;
  close(): Promise<void>;
  /** Number of rows in a table. */
  count(table: string): Promise<number>;
  listDeadLetters(): Promise<readonly DeadLetter[]>;
  /** Sends all dead letters again. Returns their number. */
  resend(): Promise<number>;
  exportUser(): Promise<readonly unknown[]>;
}

/** Starts a proxy that watches videos. Its process can crash at any operation, and its operations can fail. */
export async function simulateWatch(random: Random) {
  const first = await openFile();
  const events: JobEvent[] = [];
  const webhooks: Webhook[] = [];
  /** Ids of the ends that the handler of the app has received. */
  const handledEnds: string[] = [];
  const gateways = new Map<string, SimulatedGateway>();
  const simulation = {
    events,
    webhooks,
    handledEnds,
    /** Events of ends that the gateway has not shown. */
    falseEvents: [] as string[],
    /** True while operations and the app can fail. */
    isFaulty: true,
    /** Number of operations until the process ends. */
    operationsUntilCrash: Number.POSITIVE_INFINITY,
    crashes: 0,
    /** Operations that failed, or whose commit was lost. */
    faults: 0,
    gateways,
    current: undefined as unknown as Process,
    /** Ends the process, and starts the next process. */
    crash,
  };
  simulation.current = start(first);
  return simulation;

  function start(file: string): Process {
    let hasCrashed = false;
    const host = nodeHost({ file, env: {} });
    let bound!: BoundHost;
    const plugin = videoWatch({
      onEnd: [createHook(() => hasCrashed), handleEnd],
    });
    const proxy = createProxy({
      baseURL: "https://gateway.example",
      apiKey: () => "sk-7Qx2LmZp9Rt4Vw8YbN3cKd6Fg",
      authenticate: ({ headers }) => ({ id: headers.get("authorization") ?? "" }),
      origins: [],
      models: ["beta3.0-video"],
      routes: [videos],
      secret: () => "a secret of the proxy's own, 32 and more",
      plugins: [
        plugin,
        definePlugin({
          onEvent(event: ProxyEvent) {
            if (!hasCrashed && event.type !== "request") noteEvent(event as never);
          },
        }),
      ],
      host: {
        open(setup) {
          const bind = host.open(setup as never);
          bound = bind({});
          const { run } = bound;
          bound.run = async (key, step, input) => runStep(() => run(key, step, input), step.name, input);
          return bind;
        },
      },
      fetch: async (request) => {
        if (hasCrashed) return new Promise(() => {});
        if (request.method === "POST") return createTask();
        const id = new URL(request.url).pathname.split("/").at(-1) ?? "";
        return (gateways.get(id) as SimulatedGateway).respond();
      },
    });
    const close = () => host.close(0);
    onTestFinished(close);
    const request = (more: Parameters<typeof createRequest>[0]) =>
      proxy.fetch(createRequest({ method: "GET", headers: { authorization: USER }, ...more }), {});
    const deadLetters = createDeadLetterOperations([plugin], {});
    return {
      plugin,
      request,
      close,
      end,
      count,
      listDeadLetters: deadLetters.listDeadLetters,
      resend,
      exportUser,
    };

    function end(): string {
      hasCrashed = true;
      for (const gateway of gateways.values()) gateway.noteLost();
      const nextFile = `${first}.${simulation.crashes}`;
      // copy synchronously, so that nothing is written in between
      for (const part of ["", "-wal"])
        if (existsSync(file + part)) copyFileSync(file + part, nextFile + part);
      return nextFile;
    }

    async function runStep<Output>(
      run: () => Promise<Output>,
      name: string,
      input: unknown,
    ): Promise<Output> {
      const gateway = name === "videos.applyPoll" ? gateways.get((input as { id: string }).id) : undefined;
      if (hasCrashed) return new Promise(() => {});
      simulation.operationsUntilCrash -= 1;
      if (simulation.operationsUntilCrash <= 0) {
        simulation.operationsUntilCrash = Number.POSITIVE_INFINITY;
        void crash();
        return new Promise(() => {});
      }
      const isWrite = !/read|list|find|test/i.test(name);
      const isFault = simulation.isFaulty && isWrite && random.rarely(0.1);
      const isStored = !isFault || random.rarely(0.5);
      const output = isStored ? await run() : undefined;
      if (isStored) gateway?.noteStored();
      else gateway?.noteLost();
      if (!isFault) return output as Output;
      simulation.faults += 1;
      throw new Error(`the database is gone, ${isStored ? "after" : "before"} the commit`);
    }

    async function count(table: string): Promise<number> {
      const rows = reading("test.count", (reader) =>
        reader.query<{ count: number }>(`SELECT COUNT(*) AS count FROM ${table}`),
      );
      return (await bound.run("test", rows, null))[0]?.count ?? 0;
    }

    async function resend(): Promise<number> {
      const listed = await deadLetters.listDeadLetters();
      for (const { id } of listed) await deadLetters.resend(id);
      return listed.length;
    }

    async function exportUser(): Promise<readonly unknown[]> {
      return (await plugin.userData?.exportUser({}, USER)) as readonly unknown[];
    }
  }

  async function crash(): Promise<void> {
    simulation.crashes += 1;
    const { current } = simulation;
    const next = current.end();
    simulation.current = start(next);
    await current.close().catch(() => {});
  }

  function noteEvent(event: JobEvent): void {
    events.push(event);
    const { job, outcome, code, taskId = "" } = event;
    const { last, mayBeAbsent = false } = gateways.get(taskId) ?? {};
    if (job !== "watch") return;
    const isTrue =
      (code !== "task_not_found" || mayBeAbsent) &&
      (outcome !== "complete" || last === "SUCCESS") &&
      (outcome !== "error" || (last === "FAILURE" && code === "task_failed"));
    if (!isTrue) simulation.falseEvents.push(`${outcome} ${code}`);
  }

  function createTask(): Response {
    const id = `t-${gateways.size + 1}`;
    gateways.set(id, simulateGateway(random));
    return Response.json({ id, status: "queued" });
  }

  function createHook(hasCrashed: () => boolean) {
    return webhook({
      url: "https://app.example/hook",
      secret: () => SECRET,
      async fetch(request) {
        if (hasCrashed()) return new Promise(() => {});
        const status = simulation.isFaulty ? random.one([204, 204, 204, 500, 503, 410, 404]) : 204;
        const body = (await request.json()) as { type: string; data: { id: string } };
        webhooks.push({
          id: request.headers.get("webhook-id") ?? "",
          type: body.type,
          task: body.data.id,
          hasFile: JSON.stringify(body).includes('"result_url":"https:'),
          isAccepted: status < 300,
        });
        return new Response(null, { status });
      },
    });
  }

  async function handleEnd({ id }: EndedTask): Promise<void> {
    if (simulation.isFaulty && random.rarely(0.4)) throw new Error("a mistake of the app");
    handledEnds.push(id);
  }
}

export type SimulatedWatch = Awaited<ReturnType<typeof simulateWatch>>;
