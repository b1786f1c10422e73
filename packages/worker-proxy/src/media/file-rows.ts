import type { UploadedPart } from "./bucket.js";

/** A file of the gateway's that is to be copied, once, for one user. */
export interface CopyJob {
  /** The file as `sourceOf` names it: there is one copy of each. */
  readonly source: string;
  /** Id that the copy gets. */
  readonly id: string;
  readonly userId: string;
  readonly url: string;
  /** The gateway's id of the task, for a film and its last frame. */
  readonly taskId?: string | null | undefined;
}

/** A file, from the moment in which its space is reserved. */
export interface FileRow {
  readonly id: string;
  /** The whole size. */
  readonly bytes: number;
  readonly type: string;
  /** Unix milliseconds at which the file is deleted. One that is not whole has minutes from part to part. */
  readonly expiresAt: number;
  /** The bytes that are stored; the file is whole where they are `bytes` and `isWhole` is 1. */
  readonly received: number;
  readonly isWhole: 0 | 1;
  /** The multipart upload in R2. */
  readonly uploadId: string | null;
  /** The number of the newest claim: one request at a time stores a part. */
  readonly claimed: number;
  /** Unix milliseconds until which the newest claim holds; 0 once it was given back. */
  readonly claimedUntil: number;
  /** The parts that are stored, as JSON. */
  readonly parts: string;
  /** The address of a file of the gateway's that this is a copy of, as a hash. */
  readonly source: string | null;
  /** 1 for a copy of a file of the gateway's, 0 for an upload. */
  readonly isCopy: 0 | 1;
}

/** A change or a read of an index. */
export type IndexRequest =
  | {
      readonly do: "open";
      readonly file: Pick<FileRow, "id" | "bytes" | "type" | "expiresAt"> & {
        readonly source?: string | undefined;
      };
      readonly isCopy: boolean;
      readonly mostBytes: number;
      /** Of `mostBytes`, those that uploads may take. */
      readonly mostUploadBytes: number;
      readonly mostFiles: number;
      /** Counts the file and leaves it alone: another index deletes it. */
      readonly isCount?: true;
    }
  /** Claims the part at `from`, the end of what is stored. */
  | { readonly do: "claim"; readonly id: string; readonly from: number }
  /** Gives a claim back whose part did not arrive. */
  | { readonly do: "release"; readonly id: string; readonly claim: number }
  | {
      readonly do: "part";
      readonly id: string;
      /** The claim of the request. One that has lost it stores nothing. */
      readonly claim: number;
      readonly part: UploadedPart;
      readonly uploadId: string;
      readonly from: number;
      readonly to: number;
    }
  | { readonly do: "read" | "whole"; readonly id: string }
  | {
      readonly do: "drop";
      readonly id: string;
      /** True where the owner deletes the file: it is not copied again. */
      readonly isForGood?: boolean | undefined;
    }
  /** Ends the count of files that other indexes have deleted. */
  | { readonly do: "forget"; readonly ids: readonly string[] }
  | { readonly do: "copy"; readonly jobs: readonly CopyJob[] }
  | { readonly do: "find"; readonly ids: readonly string[]; readonly sources: readonly string[] };

/** The answer of an index: the file after the request, or the reason for which there is none. */
export interface IndexAnswer {
  readonly file?: FileRow | undefined;
  /** True where the claim was given. */
  readonly isClaimed?: boolean;
  /** The whole files that were found. */
  readonly files?: readonly FileRow[];
  /** Present where there is no space. */
  readonly full?: "bytes" | "files";
}
