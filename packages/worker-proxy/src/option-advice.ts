import { didYouMean, unknownProxyOptions } from "@sluice/core/internal";
import { specModels } from "./gates/spec-models.js";
import type { ProxyOptions } from "./options.js";

/* Loaded once, when a proxy is made: lines for its log about options that probably mean something else. */

const known = Object.keys(specModels);

/** Returns a line for each option that is not known, and for each model whose id is nearly that of another. */
export function optionAdvice<Env>(options: ProxyOptions<Env>): string[] {
  const { models } = options;
  const unknown = unknownProxyOptions(options).map(({ path, message }) => `${path} ${message}`);
  if (typeof models === "function") return unknown;
  const ids = Array.isArray(models) ? (models as readonly string[]) : Object.keys(models);
  return [...unknown, ...ids.flatMap(adviceOn)];

  function adviceOn(id: string): string | readonly string[] {
    const said = `createProxy.models: ${JSON.stringify(id)}`;
    const meant = known.includes(id) ? "" : didYouMean(id, known);
    return meant ? `${said} is no model of the tables, and is asked for as it is${meant}` : [];
  }
}
