import {
  budget,
  Budget as Ledger,
  type ObjectNamespace,
  type ObjectState,
} from "@sluice/worker-proxy/durable";

/* The Worker of budget.ts: makes requests' reservations and settles them, and puts open reservations into an object. */

interface Env {
  readonly BUDGET: ObjectNamespace;
}

/** The object, with a way to open many reservations at once. */
export class Budget extends Ledger {
  override readonly fetch: (request: Request) => Promise<Response>;

  constructor(state: ObjectState) {
    super(state);
    const ledger = new Ledger(state);
    this.fetch = async (request) => {
      const { do: entry, amount } = (await request.clone().json()) as { do: string; amount?: number };
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
