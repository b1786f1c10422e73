import type { ChatRun } from "./chats.js";
import type { MediaRun } from "./media.js";
import type { Exchanges } from "./probes.js";

/** Kind of the server at an address. `format.ts` describes each kind. */
export type ServerKind =
  | "nothing"
  | "page"
  | "foreign"
  | "closed"
  | "indistinct"
  | "emulator"
  | "worker"
  | "gateway"
  | "openai";

/** Everything that was received from one address. */
export interface Evidence {
  readonly kind: ServerKind;
  readonly hasKey: boolean;
  /** The user's own pages. */
  readonly origins: readonly string[];
  readonly exchanges: Exchanges;
  readonly chats: readonly ChatRun[];
  readonly media: readonly MediaRun[];
  /** True if the emulator behind the Worker saw the abort. Undefined without that emulator. */
  readonly sawAbort: boolean | undefined;
}

/**
 * Result of a check. `found` is the evidence for `holds`, the response for `differs`, and the reason for
 * `unclear`.
 */
export interface Finding {
  readonly verdict: "holds" | "differs" | "unclear";
  readonly found: string;
}

/** A check of one assumption. */
export type Check = (evidence: Evidence) => Finding;

/** Checks by the name of their assumption. */
export type Checks = Readonly<Record<string, Check>>;

export const confirm = (found = ""): Finding => ({ verdict: "holds", found });
export const refute = (found: string): Finding => ({ verdict: "differs", found });
export const skip = (found: string): Finding => ({ verdict: "unclear", found });

/**
 * Combines findings about several models or responses: `differs` wins over `holds`, and `holds` over `unclear`.
 *
 * @param reason of the result without findings
 */
export function combine(findings: readonly Finding[], reason: string): Finding {
  const differing = findings.filter(({ verdict }) => verdict === "differs");
  if (differing.length > 0) return refute([...new Set(differing.map(({ found }) => found))].join("; "));
  return findings.find(({ verdict }) => verdict === "holds") ?? findings[0] ?? skip(reason);
}

/** Checks each run of a model, and names the models that differ in the same way. */
export function combineModels<Run extends { readonly model: string }>(
  runs: readonly Run[],
  check: (run: Run) => Finding,
  reason: string,
): Finding {
  const findings = runs.map((run) => ({ ...check(run), model: run.model }));
  const named = findings.map((finding) => {
    if (finding.verdict !== "differs") return finding;
    const same = findings.filter(({ verdict, found }) => verdict === "differs" && found === finding.found);
    return refute(`${same.map(({ model }) => model).join(", ")}: ${finding.found}`);
  });
  return combine(named, reason);
}
