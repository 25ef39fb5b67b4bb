select $1 as first, $2 as second, $3::text as third, quote_literal($4) as fourth;
select count(*) as words from (values ($1), ($2), ($3), ($4)) as word;
