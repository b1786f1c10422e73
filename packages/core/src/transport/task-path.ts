import { ValidationError } from "../types/errors.js";

/**
 * Creates the path of a task under `base`.
 *
 * @throws {ValidationError} with `rule`, for an id that could lead to another path
 */
export function createTaskPath(base: string, id: unknown, rule: string): string {
  if (typeof id === "string" && /^[^\s\p{C}]+$/u.test(id) && !/^\.\.?$/.test(id))
    return `${base}/${encodeURIComponent(id)}`;
  throw new ValidationError([
    { path: "id", message: "must be the id of a task, as its creation gave it", rule },
  ]);
}
