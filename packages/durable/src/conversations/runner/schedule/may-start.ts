import { limited } from "@sluice/worker-proxy/internal";
import type { SchedulesOptions, StartAsked } from "./shape.js";

/** Longest wait for the decision about one start, in milliseconds. */
const ANSWER_MS = 10_000;

/** Asks the app if a schedule may start. Returns undefined where it fails, gives no answer in time, or one that is none. */
export async function isAllowed<Env>(
  mayStart: SchedulesOptions<Env>["mayStart"],
  asked: StartAsked,
  env: Env,
): Promise<boolean | undefined> {
  if (!mayStart) return true;
  try {
    const answer = await limited(
      ANSWER_MS,
      (signal) =>
        new Promise<unknown>((resolve, reject) => {
          signal.addEventListener("abort", () => reject(signal.reason));
          Promise.resolve(mayStart(asked, env)).then(resolve, reject);
        }),
    );
    return typeof answer === "boolean" ? answer : undefined;
  } catch {
    return undefined;
  }
}
