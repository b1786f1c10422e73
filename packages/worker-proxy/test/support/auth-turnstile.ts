import { type TurnstileSessionOptions, turnstileSession } from "@sluice/worker-proxy/auth";
import { read } from "./key.js";

export const SECRET_KEY = "0x4AAkZ7pQ2mW9xR5tN8vB3cL6dH1fG";
export const SESSION_SECRET = "jP4mXw8Rz1Kc7Vb3Nq9Ld5Ht2Gf6Ys0A";
export const TOKEN = "0.uK3wE8rT5yU1iO7pA2sD9fG4hJ6kL.widget";
export const PAGE = "https://app.example";

type Answer = (form: URLSearchParams) => Response | Promise<Response>;

/** Turnstile's answer about a check that was made just now. */
export const good = (changes: object = {}): Answer => {
  return () =>
    Response.json({
      success: true,
      "error-codes": [],
      challenge_ts: new Date().toISOString(),
      hostname: "app.example",
      action: "chat",
      ...changes,
    });
};
export const bad =
  (...codes: string[]): Answer =>
  () =>
    Response.json({ success: false, "error-codes": codes });

/** Sessions, with a Turnstile of this process that answers as it is told, in turn, and records what it is asked. */
export function openVisitors(answers: Answer[] = [good()], options: Partial<TurnstileSessionOptions> = {}) {
  const forms: URLSearchParams[] = [];
  const requests: Request[] = [];
  const visitors = turnstileSession({
    secretKey: () => SECRET_KEY,
    sessionSecret: () => SESSION_SECRET,
    origins: [PAGE],
    action: "chat",
    fetch: async (request) => {
      requests.push(request);
      const form = new URLSearchParams(new TextDecoder().decode(await request.clone().arrayBuffer()));
      forms.push(form);
      return (answers[forms.length - 1] ?? (answers.at(-1) as Answer))(form);
    },
    ...options,
  });
  return {
    ...visitors,
    forms,
    requests,
    /** Returns the exchange's answer to a token from the page; an argument changes a part of that request. */
    async exchanged({
      headers,
      body = { token: TOKEN },
      ...init
    }: Omit<RequestInit, "body"> & { body?: unknown } = {}) {
      const request = new Request("https://proxy.example/session", {
        method: "POST",
        ...init,
        headers: { origin: PAGE, "content-type": "application/json", ...(headers as object) },
        ...((init.method ?? "POST") === "POST" && {
          body: typeof body === "string" || body instanceof ReadableStream ? body : JSON.stringify(body),
          duplex: "half",
        }),
      });
      const answer = await read(await visitors.exchange(request, {}));
      const { session, expiresAt } = (answer.status === 200 ? JSON.parse(answer.text) : {}) as Session;
      return { ...answer, code: answer.error?.["code"], session, expiresAt };
    },
  };
}

interface Session {
  readonly session: string;
  readonly expiresAt: number;
}
