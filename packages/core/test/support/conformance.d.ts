declare module "virtual:conformance" {
  interface SSECase {
    readonly id: string;
    readonly chunks_b64: readonly string[];
    readonly expected: readonly { event: string; data: string; lastEventId: string }[];
    readonly expected_retry: number | null;
    readonly expected_last_event_id: string;
    readonly any_split_must_agree: boolean;
  }
  interface ErrorCase {
    readonly id: string;
    readonly status: number;
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
    readonly expected: {
      readonly status: number;
      readonly code: string | number | null;
      readonly type: string | null;
      readonly message: string | null;
      readonly param: string | null;
      readonly code_may_be?: readonly (string | number | null)[];
      readonly param_may_be?: readonly (string | null)[];
      readonly message_rule?: string;
      readonly not_error_required?: boolean;
    };
  }
  interface RecordedChoice {
    readonly index: number;
    readonly content: string | null;
    readonly reasoning_content: string | null;
    readonly reasoning: string | null;
    readonly refusal: string | null;
    readonly finish_reason: string | null;
    readonly tool_calls: readonly { id: string; name: string; arguments: string }[];
  }
  interface RecordedStream {
    readonly id: string;
    readonly base64: string;
    readonly expected: {
      readonly id: string | null;
      readonly model: string | null;
      readonly usage: unknown;
      readonly choices: readonly RecordedChoice[];
      readonly errors: readonly unknown[];
      readonly error_field_lines: readonly string[];
    };
  }
  interface PartialReading {
    readonly prefix: string;
    readonly accept: readonly unknown[];
    readonly accept_none: boolean;
  }
  interface WholeDocument {
    readonly full: string;
    readonly value: unknown;
    readonly prefixes: readonly PartialReading[];
  }
  interface PartialJSONCases {
    readonly cases: readonly ((PartialReading | WholeDocument) & { readonly source: string })[];
    readonly malformed_complete_documents: readonly { readonly source: string; readonly b64: string }[];
    readonly prototype_safety: readonly string[];
  }
  export const sseCases: readonly SSECase[] | undefined;
  export const errorCases: readonly ErrorCase[] | undefined;
  export const partialJSON: PartialJSONCases | undefined;
  export const streams: readonly RecordedStream[] | undefined;
}
