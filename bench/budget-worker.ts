import { budget, Budget as Ledger, type ObjectNamespace, type ObjectState } from "@sluice/durable";

/* The Worker of budget.ts: makes requests' reservations and settles them, and puts open reservations into an object. */

interface Env {
  readonly BUDGET: ObjectNamespace;
  readonly FLOOR: ObjectNamespace;
}

/** The least that a ledger could do: reads a message, and writes one row for it. */
export class Floor {
  readonly fetch: (request: Request) => Promise<Response>;

  constructor({ storage: { sql } }: ObjectState) {
    sql.exec("CREATE TABLE IF NOT EXISTS entries (id TEXT PRIMARY KEY, amount INTEGER) WITHOUT ROWID");
    this.fetch = async (request) => {
      const { id, amount } = (await request.json()) as { id: string; amount: number };
      sql.exec("INSERT OR REPLACE INTO entries VALUES (?, ?)", id, amount);
      return Response.json({ amount });
    };
  }

  async alarm() {}
}

/** The object, with a way to open many reservations at once. */
export class Budget extends Ledger {
  override readonly fetch: (request: Request) => Promise<Response>;

  constructor(state: ObjectState) {
    super(state);
    const ledger = new Ledger(state);
    this.fetch = async (request) => {
      const { do: entry, amount } = (await request.clone().json()) as { do: string; amount?: number };
      if (entry === "pairs") return await passAlone(ledger, amount ?? 0);
      const answer = await ledger.fetch(request);
      const open = entry === "raise" ? (amount ?? 0) : 0;
      if (open > 0)
        state.storage.sql.exec(
          `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?1)
            INSERT INTO reservations SELECT 'open-' || i, ?2, 1, ?2 + i FROM n`,
          open,
          Date.now() + 86_400_000,
        );
      return answer;
    };
  }
}

const AT_ONCE = 50;

/** Reserves and settles within the object: what its own thread does for a request, without the way there. */
async function passAlone(ledger: Ledger, pairs: number): Promise<Response> {
  const send = (entry: object) => {
    const body = JSON.stringify({ ...entry, windowMs: 86_400_000 });
    return ledger.fetch(new Request("https://budget.invalid/", { method: "POST", body }));
  };
  for (let nth = 0; nth < pairs; nth += 1) {
    const id = crypto.randomUUID();
    const given = await send({ do: "reserve", id, amount: 1, limit: 1e12, holdMs: 3_600_000 });
    await given.json();
    await (await send({ do: "settle", id, amount: 1 })).json();
  }
  return Response.json({ passed: pairs });
}

export default {
  async fetch(request: Request, env: Env) {
    const query = new URL(request.url).searchParams;
    const number = (name: string, otherwise: number) => Number(query.get(name) ?? otherwise);
    const name = query.get("name") ?? "";
    const limit = number("limit", 1e12);
    const meter = budget<Env>({
      namespace: ({ BUDGET }) => BUDGET,
      limits: { bench: { limit, shards: number("shards", 1), by: () => name } },
      windowMs: 86_400_000,
      reserveFor: () => 1,
    });
    const reader = { env, user: { id: "ada" } };
    if (query.has("alone")) {
      const body = JSON.stringify({ do: "pairs", amount: number("pairs", 0) });
      const object = env.BUDGET.get(env.BUDGET.idFromName("alone") as never);
      return await object.fetch(new Request("https://budget.invalid/", { method: "POST", body }));
    }
    if (query.has("floor")) return await passFloor(env.FLOOR, number("pairs", 0));
    if (query.has("open")) await meter.ledger("bench", reader).raise(number("open", 0));
    let left = number("pairs", 0);
    let passed = 0;
    const isKept = query.has("kept");
    await Promise.all(
      Array.from({ length: AT_ONCE }, async () => {
        while (left-- > 0) {
          const given = await meter.reserve({ ...reader, context: undefined, route: "chat" });
          if (!("settle" in given)) continue;
          passed += 1;
          if (!isKept) await given.settle({ total_tokens: 1 });
        }
      }),
    );
    return Response.json({ passed });
  },
};

/** Sends two messages for each pair, as a reservation and its settlement are. */
async function passFloor(namespace: ObjectNamespace, pairs: number): Promise<Response> {
  let left = pairs;
  const send = async (amount: number) => {
    const object = namespace.get(namespace.idFromName("floor") as never);
    const body = JSON.stringify({ do: "reserve", id: "one", amount, windowMs: 86_400_000 });
    const answer = await object.fetch(new Request("https://floor.invalid/", { method: "POST", body }));
    await answer.json();
  };
  await Promise.all(
    Array.from({ length: AT_ONCE }, async () => {
      while (left-- > 0) {
        await send(1);
        await send(0);
      }
    }),
  );
  return Response.json({ passed: pairs });
}
