import { optionalCases } from "./optional-cases.js";
import type { StorageContract } from "./options.js";
import { recordCases } from "./record-cases.js";
import { tried } from "./tried-storage.js";
import { watchCases } from "./watch-cases.js";

/** A case of a contract, for any test runner. */
export interface StorageCase {
  /** Title of the test: a sentence. */
  readonly title: string;
  /**
   * Runs the case. Rejects where the storage breaks the contract.
   *
   * @param context what a runner gives to a test. A case that does not apply calls its `skip` with the reason (Vitest,
   * Node); without one, it ends without an error.
   */
  readonly run: (context?: unknown) => Promise<void>;
}

/**
 * Returns the contract of `RecordStorage` as tests, for a storage of your own. They need nothing of a runner but a
 * function that takes a title and a test: `test` of Vitest, Jest, Node or Bun, `Deno.test`.
 *
 * `pass`, `drop` and `lock` are tried where the storage has them. A case that needs an option which is not given is skipped.
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
    // a parameter that has a default is not counted: with one that is, Jest and Bun would wait for a callback
    async run(context = undefined) {
      const reason = await tried(options, check);
      if (typeof reason === "string" && isSkipping(context)) context.skip(reason);
    },
  }));
}

function isSkipping(context: unknown): context is { skip(reason: string): unknown } {
  return typeof (context as { readonly skip?: unknown } | undefined)?.skip === "function";
}
