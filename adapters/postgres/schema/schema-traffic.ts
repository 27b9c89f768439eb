/** Bytes that the gateway has sent for each account. */
export const trafficSchema = `
  CREATE TABLE egress (
    account_id TEXT COLLATE "C" NOT NULL REFERENCES accounts (id) ON DELETE CASCADE,
    -- 202611 for November 2026, in UTC
    month BIGINT NOT NULL,
    domain TEXT COLLATE "C" NOT NULL,
    bytes BIGINT NOT NULL,
    PRIMARY KEY (account_id, month, domain)
  );
`
