import { health, type ProxyPlugin } from "@sluice/worker-proxy";
import {
  type AdmittedRequest,
  hashText,
  type JSONValue,
  type PluginRoute,
  type PluginServer,
  Refusal,
  type StoredPart,
} from "@sluice/worker-proxy/plugin";
import { persistentJob } from "../host/define.js";
import { createUserKey } from "../host/user-key.js";
import { connectOnce } from "../shared/connect-once.js";
import { type Begin, createBegin, createFree } from "./begin.js";
import { checkJob } from "./check.js";
import { readLive } from "./live.js";
import type { JobServer, JobsContext, JobsOptions, KeyContext } from "./options.js";
import { jobRefusal } from "./refusals.js";
import { type OpenedResponse, openResponse } from "./response-stream.js";
import { createRun } from "./run.js";
import { createReadSource, type ReadRequest } from "./serve-reader.js";
import type { JobDetails, StopReason } from "./states.js";
import { createJobStore, type JobId } from "./store.js";
import { JOB_TABLES } from "./table.js";
import { createUserData } from "./user-data.js";

/** The ids and the bound of a request that is sent once. */
interface JobToSend {
  readonly id: string;
  /** The id of the job in its event. */
  readonly eventId: string;
  /** Maximum number of open jobs of the user. @default any */
  readonly maxOpen?: number | undefined;
}

/** Maximum number of attempts to begin a request: its id may be freed meanwhile, or its Durable Object may end. */
const MAX_ATTEMPTS = 4;

/** Creates the jobs of a plugin: requests that are sent to the gateway once, and whose responses are stored. */
export function createJobs(options: JobsOptions) {
  const { kind, plugin } = options;
  const connection = connectOnce<never>(plugin);
  const getServer = connection.getServer as unknown as () => JobServer;
  const check = persistentJob(`${kind}.check`, (context, { id }: JobId) => checkJob(jobs, context, id));
  const store = createJobStore({ ...options, checkJob: check });
  const jobs: JobsContext = { ...options, store, getServer };
  const run = createRun(jobs);
  const retryFree = createFree(jobs);
  const read = createReadSource(jobs);
  const begin = createBegin(jobs, run, retryFree);
  const storage: StoredPart = {
    tables: JOB_TABLES,
    operations: store.operations,
    jobs: [check, run, retryFree] as never,
    sources: [read, begin] as never,
  };
  const healthCheck = health<never>();
  return {
    storage,
    userData: createUserData(jobs, openKey),
    connect(server: PluginServer<never>): void {
      connection.connect(server);
      healthCheck.connect?.(server);
    },
    /**
     * Creates the route `GET /health`, unless another plugin opens it. A client that lost the response reads there what
     * the proxy has.
     */
    createRoutes(plugins: readonly ProxyPlugin<never>[]): readonly PluginRoute<never>[] {
      const isOpen = plugins.some(({ routes = [] }) => routes.some(({ path }) => path === "/health"));
      const first = plugins.find(({ features }) => features?.["health"]);
      return isOpen || first?.storage !== storage ? [] : (healthCheck.routes ?? []);
    },
    send,
    /** Opens a stored response; undefined if none is stored. @throws {Refusal} */
    async open(
      { env, user, request }: AdmittedRequest<unknown>,
      input: ReadRequest,
    ): Promise<OpenedResponse | undefined> {
      const { host, key } = await openKey(env, user.id);
      return openResponse(await host.open(key, read, { ...input }), request.signal);
    },
    /** Tells a job to stop. Returns false if the job does not exist. */
    async stop(env: unknown, userId: string, id: string, reason: StopReason): Promise<boolean> {
      const { host, key } = await openKey(env, userId);
      return host.run(key, store.stop, { id, reason });
    },
    /** Returns the end code of a job; undefined for an open, a complete or a missing job. */
    async readEndCode(env: unknown, userId: string, id: string): Promise<string | undefined> {
      const { host, key } = await openKey(env, userId);
      const live = readLive({ host, key }, store, id);
      const [job] = live ? [live] : await host.run(key, store.jobs, { ids: [id] });
      return job?.code;
    },
  };

  async function openKey(env: unknown, userId: string): Promise<KeyContext> {
    return { host: getServer().host(env), key: await createUserKey(userId), env };
  }

  /** Sends a request, or returns the response that is stored for its id. @throws {Refusal} */
  async function send(admitted: AdmittedRequest<unknown>, toSend: JobToSend): Promise<OpenedResponse> {
    const { env, user, path, body, request } = admitted;
    // `user_id` is left out, because it differs after a change of the proxy's secret
    const text = JSON.stringify([path, { ...body, user_id: undefined }]);
    const bodyBytes = text.length;
    const [{ host, key }, fingerprint] = await Promise.all([openKey(env, user.id), hashText(text)]);
    const job = { ...readRequest(admitted, toSend), bodyBytes, fingerprint, maxOpen: toSend.maxOpen ?? null };
    for (let attempt = 1; ; attempt += 1) {
      // the body and the user are JSON, but their types don't say so
      const stream = await host.open<JSONValue>(key, begin as never, job as never);
      const opened = await openResponse(stream, request.signal).catch((cause: unknown) => {
        if (cause instanceof Refusal) throw cause;
        // the process or object of the key ended: the next attempt finds the row of this attempt
        if (attempt === MAX_ATTEMPTS) throw jobRefusal("job_unavailable", { cause });
      });
      // undefined if a job that cost nothing has freed the id meanwhile
      if (opened) return opened;
      if (attempt === MAX_ATTEMPTS) throw jobRefusal("job_unavailable");
    }
  }
}

const KEY = /^[\x21-\x7e]{1,255}$/;

/** Returns the idempotency key of a request; null without a key. @throws {Refusal} for an invalid key */
export function readKey({ headers }: Request): string | null {
  const key = headers.get("idempotency-key");
  if (key !== null && !KEY.test(key)) throw jobRefusal("idempotency_key_invalid");
  return key;
}

/** Returns the part of an admitted request that its job needs. */
function readRequest(
  admitted: AdmittedRequest<unknown>,
  { id, eventId }: JobToSend,
): Omit<Begin, "bodyBytes" | "fingerprint" | "maxOpen"> {
  const { user, route, path, model, body = {}, headers = {} } = admitted;
  const requestId = headers["x-request-id"];
  const details: JobDetails = { eventId, user: user.id, requestId, model, startedAt: Date.now() };
  return { id, details, user, route, path, headers, body };
}
