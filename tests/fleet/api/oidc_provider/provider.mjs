// A real OpenID provider (node oidc-provider) on loopback: any login is accepted, and the login's name decides its groups.
import Provider from "oidc-provider";

const [port, redirect] = process.argv.slice(2);
const issuer = `http://127.0.0.1:${port}`;
const GROUPS = { ada: ["sre-leads", "all"], bob: ["sre"], eve: ["interns"] };

const provider = new Provider(issuer, {
  clients: [
    {
      client_id: "holdfast",
      client_secret: "a-secret-of-the-test",
      redirect_uris: [redirect],
      grant_types: ["authorization_code"],
      response_types: ["code"],
    },
  ],
  pkce: { required: () => true },
  claims: { openid: ["sub"], profile: ["preferred_username"], groups: ["groups"], email: ["email"] },
  conformIdTokenClaims: true, // groups only from the userinfo endpoint, as strict providers do
  findAccount: (_, id) => ({
    accountId: id,
    claims: () => ({ sub: id, preferred_username: id, email: `${id}@example.com`, groups: GROUPS[id] ?? [] }),
  }),
  cookies: { keys: ["only for tests"] },
});
provider.listen(Number(port), "127.0.0.1", () => console.log("ready"));
