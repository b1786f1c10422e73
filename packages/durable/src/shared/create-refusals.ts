import { Refusal } from "@sluice/worker-proxy/plugin";

/** Refusals by name. The code defaults to the name. `{what}` in a message is replaced with `details.what`. */
type RefusalTable = Readonly<Record<string, readonly [status: number, message: string, code?: string]>>;

/** Returns a function that creates the refusals of a table by name. */
export function createRefusals<Table extends RefusalTable>(table: Table) {
  return (reason: keyof Table & string, details: Refusal["details"] = {}): Refusal => {
    const [status, text, code = reason] = table[reason] as RefusalTable[string];
    const message = text.replace("{what}", () => String(details.what));
    return new Refusal("custom", { ...details, error: { status, code, message } });
  };
}
