import { Refusal, type RefusalDetails } from "@sluice/worker-proxy/plugin";

/** Refusals by their names: status, message, and the code if it is not the name. `{what}` stands for a detail. */
type RefusalTable = Readonly<Record<string, readonly [status: number, message: string, code?: string]>>;

/** Creates the function that creates the refusals of a table. */
export function createRefusals<Table extends RefusalTable>(table: Table) {
  return (reason: keyof Table & string, details: RefusalDetails = {}): Refusal => {
    const [status, text, code = reason] = table[reason] as RefusalTable[string];
    const message = text.replace("{what}", () => String(details.what));
    return new Refusal("said", { ...details, said: { status, code, message } });
  };
}
