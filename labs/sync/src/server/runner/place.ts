import type { ObjectState } from "@sluice/durable";

/** Records by key; `undefined` removes one. */
export type Changes = ReadonlyMap<string, unknown>;

/** The part of a conversation's object that its runs use. */
export interface RunPlace<Env = unknown> {
  readonly state: ObjectState;
  readonly env: Env;
  /** The app's id of the conversation. */
  readonly conversation: string;
  /** Returns a record; undefined where there is none. */
  read(key: string): unknown;
  /** Sets space aside. @throws {Refusal} where there is none */
  room(bytes: number): Promise<void>;
  /**
   * Writes records for the device `server`, in one transaction, whatever versions they have. Those who follow get them.
   *
   * @returns the code of the first record that was refused, and undefined where all were taken
   */
  write(changes: Changes): string | undefined;
  /** Passes records to those who follow, and keeps none. */
  pass(changes: Changes): void;
  /** Returns the name of the conversation in the user's list. Rejects where the list can't be reached. */
  title(): Promise<string | undefined>;
  /** Has `alarm` called by then, in Unix milliseconds. */
  wakeBy(at: number): void;
}

/** The runs of one conversation. */
export interface Runs {
  /**
   * Begins a turn, unless it was begun before, or another answer below the same message is under way.
   *
   * @throws {Refusal} 400 for a wrong body, 409 while another turn runs or where a message is not there yet
   */
  begin(body: Readonly<Record<string, unknown>> | undefined, caller: RunCaller): Promise<BegunTurn>;
  /** Stops the turn that runs or waits, if there is one. */
  stop(): void;
  /** Reports what devices have written: reactions to calls, and messages that were removed. */
  changed(changes: Changes): void;
  /** Continues a turn whose object was lost. Called before anything else that the object does. */
  resume(): void;
  /** Does what is due, and asks for the next alarm. */
  alarm(): Promise<void>;
  /** Ends the turn, because the conversation is removed or its user erased. Nothing is written any more. */
  drop(): void;
}

/** The sender of a turn. */
export interface RunCaller {
  readonly user: KeptUser;
  readonly requestId?: string | undefined;
}

/** The user of a turn, as it is stored until the turn is over: budgets may count by any of these. */
export interface KeptUser {
  readonly id: string;
  readonly session?: string;
  readonly address?: string;
}

/** Answer to a turn. */
export interface BegunTurn {
  readonly messageId: string;
  /** True for a turn that was begun before, and has ended. */
  readonly isOver?: true;
}

/** Opens the runs of a conversation. Made by `runner`. */
export interface Runner<Env = unknown> {
  open(place: RunPlace<Env>): Runs;
}
