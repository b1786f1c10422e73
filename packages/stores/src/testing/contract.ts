import { runCase, type StorageContract } from "./case-context.js";
import { optionalCases } from "./optional-cases.js";
import { recordCases } from "./record-cases.js";
import { watchCases } from "./watch-cases.js";

/** A case of a contract, for any test runner. */
export interface StorageCase {
  /** Title of the test: a sentence. */
  readonly title: string;
  /**
   * Runs the case. Rejects if the storage breaks the contract.
   *
   * @param context context that a runner passes to a test. A case that does not apply calls its `skip` with the reason
   * (Vitest, Node); without `skip` it ends without an error.
   */
  readonly run: (context?: unknown) => Promise<void>;
}

/**
 * Returns the contract of `RecordStorage` as tests, for a custom storage. They work with every runner that has a function
 * of a title and a test: `test` of Vitest, Jest, Node or Bun, `Deno.test`.
 *
 * `broadcast`, `clear` and `lock` are tested if the storage has them. A case is skipped if it needs a missing option.
 *
 * @example
 * ```ts
 * import { storageTests } from "@sluice/stores/testing";
 * import { test } from "vitest";
 * import { openMyStorage } from "./my-storage.js"; // yours
 *
 * for (const { title, run } of storageTests({ create: () => openMyStorage() })) test(title, run);
 * ```
 */
export function storageTests(options: StorageContract): readonly StorageCase[] {
  return Object.entries({ ...recordCases, ...watchCases, ...optionalCases }).map(([title, check]) => ({
    title: `The storage ${title}`,
    // the default keeps `run.length` at 0; otherwise Jest and Bun would wait for a callback
    async run(context = undefined) {
      const reason = await runCase(options, check);
      if (typeof reason === "string" && isSkipping(context)) context.skip(reason);
    },
  }));
}

function isSkipping(context: unknown): context is { skip(reason: string): unknown } {
  return typeof (context as { readonly skip?: unknown } | undefined)?.skip === "function";
}
