import { answer } from "../../../server/answer";
import type { Env } from "../../../server/proxy";

const handle = (request: Request) => answer(request, process.env as unknown as Env);

export { handle as GET, handle as OPTIONS, handle as POST };
