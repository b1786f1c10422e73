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

/**
 * A job in the object's storage. One that is over keeps its place, so that nothing is copied a second time. One whose copy
 * was deleted has no `url` any more.
 */
export interface CopyRow extends CopyJob {
  readonly attempts: number;
  readonly isOver: 0 | 1;
  /** 1 where the file is paid for, also if an eviction has cut off the attempt that paid. */
  readonly isPaid: 0 | 1;
  /** Unix milliseconds at which it was noted. */
  readonly notedAt: number;
  /** Unix milliseconds of the next attempt; of the time to forget for a job that is over. */
  readonly nextAt: number;
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
  /** The owner, until the file is whole; null in the index of all users. */
  readonly userId: string | null;
  /**
   * 1 for a file that is to be deleted: it can't be found any more, and counts until the bucket has deleted it.
   * `expiresAt` is the time of the next attempt.
   */
  readonly isDropped: 0 | 1;
  /** Number of alarms in which the bucket did not delete it. */
  readonly removals: number;
}

/** A change or a read of an index. */
export type IndexRequest =
  | {
      readonly do: "open";
      readonly file: Pick<FileRow, "id" | "bytes" | "type" | "expiresAt"> & {
        readonly source?: string | undefined;
        /** The owner, and the begin of the request or the attempt; absent in the index of all users. */
        readonly userId?: string | undefined;
        readonly startedAt?: number | undefined;
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
  /** Notes the multipart upload, before it has a part. */
  | { readonly do: "begin"; readonly id: string; readonly uploadId: string }
  | { readonly do: "read" | "whole"; readonly id: string }
  /** Marks a file that is about to be deleted from the bucket. It counts until then. */
  | {
      readonly do: "drop";
      readonly id: string;
      /** True where the owner deletes the file: it is not copied again. */
      readonly isForGood?: boolean | undefined;
    }
  /** Ends the count of a file that the bucket has deleted. */
  | { readonly do: "gone"; readonly id: string }
  /** Has a file without a row deleted from the bucket later, by an alarm. */
  | { readonly do: "bury"; readonly id: string; readonly uploadId: string | null }
  /** Deletes up to some hundred files of the user, and ends what is under way. */
  | { readonly do: "erase" }
  /** Reads a page of files or of copies behind a key. */
  | { readonly do: "list"; readonly of: "files" | "copies"; readonly after: string }
  /** Ends the count of files that other indexes have deleted. */
  | { readonly do: "forget"; readonly ids: readonly string[] }
  | { readonly do: "copy"; readonly jobs: readonly CopyJob[] }
  | { readonly do: "find"; readonly ids: readonly string[]; readonly sources: readonly string[] };

/** The answer of an index: the file after the request, or the reason for which there is none. */
export interface IndexAnswer {
  readonly file?: FileRow | undefined;
  /** True where the claim was given. */
  readonly isClaimed?: boolean;
  /** The whole files that were found, or a page. */
  readonly files?: readonly (FileRow & { readonly taskId?: string | null })[];
  readonly copies?: readonly CopyRow[];
  /** The key of the next page; absent after the last one. */
  readonly next?: string | undefined;
  /** True where there is more to be erased. */
  readonly isMore?: boolean;
  /** The bound that the file would pass; `erased` where the user was erased since the request began. */
  readonly full?: "bytes" | "files" | "erased";
}
