import { sign } from "../server/sign-in.ts";

/* Operates the server of APP_URL: `npm run admin -- budgets/read '{ "by": "user", "user": "ada" }'`. */

const [, , operation, body = "{}"] = process.argv;
const { APP_URL = "", OPERATORS = "", SESSION_SECRET = "" } = process.env;
const [operator = ""] = OPERATORS.split(" ");
if (!operation || operator === "") {
  console.error(
    "Usage: npm run admin -- <operation> '<JSON>'. OPERATORS needs the id of an operator, here and on the server.",
  );
  process.exit(1);
}
const response = await fetch(`${APP_URL}/api/v1/admin/${operation}`, {
  method: "POST",
  headers: {
    authorization: `Bearer ${await sign("session", operator, 60, SESSION_SECRET)}`,
    "content-type": "application/json",
  },
  body,
});
console.log(await response.text());
if (!response.ok) process.exitCode = 1;
