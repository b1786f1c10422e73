import ts from "typescript";
import {
  budgetRefusals,
  createRefusals,
  mediaRefusals,
} from "../../../packages/worker-proxy/src/refusals/texts.ts";
import { checker } from "./program.ts";
import { type Find, writeDoc } from "./text.ts";

/** The page with a section for each error: the classes of the client by their `name`, and the refusals of the proxy. */
export function errorCatalogue(symbols: ReadonlyMap<string, ts.Symbol>, find: Find): string {
  const classes = [...symbols].filter(
    ([name, { flags }]) => flags & ts.SymbolFlags.Class && name !== "GatewayError",
  );
  const byCode = Map.groupBy(
    Object.entries<Row>({ ...createRefusals(), ...budgetRefusals, ...mediaRefusals }),
    ([reason, [, , code]]) => code ?? reason,
  );
  return [
    "# All errors",
    "Errors of the client are classes; `name` names the class. Errors of the gateway and of the proxy are an `APIError`, with their own code in `code`. An aborted call rejects with the platform's `AbortError`.",
    "## Errors of the client",
    ...classes.map(([name, symbol]) => sectionOfClass(name, symbol, find)),
    "## Errors of the gateway",
    "The gateway's errors are an [`APIError`](#apierror). [The specification](../spec/gateway.md#errors) has the list.",
    "## Refusals of the proxy",
    "The proxy responds in the gateway's format, and `source` of the [`APIError`](#apierror) is `proxy`. `code` is the code below.",
    ...[...byCode].map(([code, rows]) => sectionOfRefusal(code, rows)),
  ].join("\n\n");
}

type Row = readonly [status: number, message: string, code?: string];

function sectionOfClass(name: string, symbol: ts.Symbol, find: Find): string {
  const billing = readLiteral(symbol, "billing") ?? "see the field `billing`";
  return [
    `### ${name} {:#${name.toLowerCase()}}`,
    `billing: ${billing} · [all fields](./${find(name)?.replace(".html", ".md")})`,
    writeDoc(symbol, find),
  ].join("\n\n");
}

/** The literals of a property of a class. */
function readLiteral(symbol: ts.Symbol, name: string): string | undefined {
  const property = checker.getPropertyOfType(checker.getDeclaredTypeOfSymbol(symbol), name);
  const isOwn = property?.declarations?.some(
    ({ parent }) => ts.isClassDeclaration(parent) && parent.name?.text === symbol.name,
  );
  const text = property && isOwn && checker.typeToString(checker.getTypeOfSymbol(property));
  return text ? text.replaceAll('"', "") : undefined;
}

function sectionOfRefusal(code: string, rows: readonly (readonly [string, Row])[]): string {
  const lines = rows.map(
    ([, [status, message]]) =>
      `- ${status}: ${message.replace("{param}", "the field").replace("{what}", "…")}`,
  );
  return [`### ${code} {:#${code}}`, lines.join("\n")].join("\n\n");
}
