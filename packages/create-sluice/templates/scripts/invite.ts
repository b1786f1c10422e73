import { sign } from "../server/sign-in.ts";

/* Prints a link that signs a user in for a month: `npm run invite -- ada`. */

const [, , user] = process.argv;
const { APP_URL, SESSION_SECRET } = process.env;
if (!user || !APP_URL || !SESSION_SECRET) {
  console.error(
    "Usage: npm run invite -- <user id>. .env.production.local needs APP_URL and SESSION_SECRET.",
  );
  process.exit(1);
}
console.log(`${APP_URL}/#invite=${await sign("invite", user, 30 * 24 * 3600, SESSION_SECRET)}`);
