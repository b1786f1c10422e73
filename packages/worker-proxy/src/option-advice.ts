import { didYouMean, unknownProxyOptions } from "@sluice/core/internal";
import { routeOf } from "./gates/field-table.js";
import { specModels } from "./gates/spec-models.js";
import type { ProxyOptions } from "./options.js";

/* Loaded once, when a proxy is made: lines for its log about options that probably mean something else. */

const known = Object.keys(specModels);

/** Returns a line for each option that is not known, and for each model that no request will reach. */
export function optionAdvice<Env>(options: ProxyOptions<Env>): string[] {
  const { models, routes = ["chat"] } = options;
  const unknown = unknownProxyOptions(options).map(({ path, message }) => `${path} ${message}`);
  if (typeof models === "function") return unknown;
  const ids = Array.isArray(models) ? (models as readonly string[]) : Object.keys(models);
  return [...unknown, ...ids.flatMap(adviceOn)];

  function adviceOn(id: string): string | readonly string[] {
    const said = `createProxy.models: ${JSON.stringify(id)}`;
    const meant = known.includes(id) ? "" : didYouMean(id, known);
    if (meant) return `${said} is no model of the tables, and is asked for as it is${meant}`;
    const route = routeOf(id);
    if (!route || routes.includes(route)) return [];
    return `${said} is never asked for: add "${route}" to \`routes\`, or take the model out`;
  }
}
