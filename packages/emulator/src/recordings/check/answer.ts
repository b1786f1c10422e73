import * as v from "valibot";
import type { RecordedResponse, Recording } from "../recording.js";
import { answerOf, errorAnswer, statuses } from "./answers.js";
import type { Found } from "./finding.js";
import { shapeOf } from "./shape.js";

/** Compares an answer that is not streamed with the tables of the specification. */
export function findingsOfAnswer({ response }: Recording, endpoint: string, model: string): Found[] {
  return [...findingsOfHead(response), ...findingsOfBody(response, endpoint, model)];
}

/** Compares status and type of an answer with the specification. */
function findingsOfHead({ status, headers, end }: RecordedResponse): Found[] {
  const found: Found[] = [];
  const type = headers["content-type"] ?? "";
  if (!statuses.includes(status)) found.push(differs(`status ${status} is not in the specification`));
  if (!/^application\/json\b/i.test(type))
    found.push(differs(`content-type is ${type || "absent"}, not JSON`));
  if (end === "broken") found.push(differs("the connection broke within the answer"));
  return found;
}

function findingsOfBody(response: RecordedResponse, endpoint: string, model: string): Found[] {
  if (response.end !== "finished") return [];
  const body = bodyOf(response);
  if (body === undefined) return [differs("the body is not JSON")];
  const schema = response.status === 200 ? answerOf(endpoint, model) : errorAnswer;
  return schema ? findingsBySchema(schema, body) : shapeOf(body).map((text) => ({ kind: "shown", text }));
}

function findingsBySchema(schema: v.GenericSchema, body: unknown): Found[] {
  const { issues = [] } = v.safeParse(schema, body);
  return issues.map((issue) => {
    // items of a list are one finding
    const path = (v.getDotPath(issue) ?? "the body").replace(/\.\d+(?=\.|$)/g, "[]");
    if (issue.expected === "never")
      return { kind: "unlisted", text: `answer: ${path} (${typeof issue.path?.at(-1)?.value})` };
    if (issue.received === "undefined") return differs(`${path} is absent`);
    return differs(
      `${path} is ${issue.received}${issue.expected ? `, not ${issue.expected}` : ", in another form"}`,
    );
  });
}

function differs(text: string): Found {
  return { kind: "differs", text: `answer: ${text}` };
}

function bodyOf({ body, text }: RecordedResponse): unknown {
  if (text === undefined) return body;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
