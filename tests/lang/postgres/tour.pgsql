-- What programs use: each check is a row, the last statement shows those that are wrong.
create table checks (name text, got text, want text);

-- Dates
insert into checks select 'month', (date '2024-01-31' + interval '1 month')::date, '2024-02-29';
insert into checks select 'age', age(timestamp '2024-03-01', '2023-12-31'), '2 mons 1 day';
insert into checks select 'zone', timestamptz '2024-07-01 12:00 Europe/Berlin' at time zone 'America/New_York', '2024-07-01 06:00:00';
insert into checks select 'trunc', date_trunc('quarter', timestamp '2024-05-17 10:00'), '2024-04-01 00:00:00';
insert into checks select 'epoch', to_timestamp(1000000000) at time zone 'UTC', '2001-09-09 01:46:40';

-- JSON
insert into checks select 'jsonb', '{"a": [1, {"b": "c"}]}'::jsonb #>> '{a,1,b}', 'c';
insert into checks select 'jsonpath', jsonb_path_query_array('[1, 5, 9]', '$[*] ? (@ > 3)'), '[5, 9]';
insert into checks select 'contains', '{"a": 1, "b": 2}'::jsonb @> '{"b": 2}', 'true';
insert into checks select 'json_agg', (select json_agg(n) from generate_series(1, 3) as n), '[1, 2, 3]';

-- Text
insert into checks select 'regexp', regexp_replace('ember-box_7', '[^a-z]+', '.', 'g'), 'ember.box.';
insert into checks select 'match', 'emberbox' ~ '^e.*x$', 'true';
insert into checks select 'split', array_to_string(regexp_split_to_array('a1b22c', '\d+'), '|'), 'a|b|c';
insert into checks select 'format', format('%s %I %L', 1, 'a b', 'it''s'), '1 "a b" ''it''''s''';
insert into checks select 'escapes', E'a\'b;\\', $$a'b;\$$;
insert into checks select 'case', upper('straße é'), 'STRAßE É';
insert into checks select 'search', to_tsvector('english', 'the quick foxes') @@ to_tsquery('english', 'fox & quick'), 'true';

-- Common table expressions and windows
create table sale (region text, month int, amount int);
insert into sale values ('north', 1, 10), ('north', 2, 30), ('south', 1, 20), ('south', 2, 5), ('south', 3, 25);
insert into checks
  with recursive fib(a, b) as (values (0, 1) union all select b, a + b from fib where b < 100)
  select 'recursion', max(a), '89' from fib;
insert into checks
  select 'window', string_agg(running::text, ',' order by region, month), '10,40,20,25,50' from (
    select region, month, sum(amount) over (partition by region order by month) as running from sale) as s;
insert into checks select 'percentile', percentile_cont(0.5) within group (order by amount), '20' from sale;
insert into checks select 'cube', count(*), '3' from (select region from sale group by rollup (region)) as s;
insert into checks select 'lateral', string_agg(top::text, ','  order by region), '30,25' from
  (select distinct region from sale) as r, lateral (select max(amount) as top from sale where region = r.region) as t;

-- Transactions
begin;
delete from sale;
savepoint inner_one;
insert into sale values ('lost', 0, 0);
rollback to inner_one;
insert into checks select 'inside', count(*), '0' from sale;
rollback;
insert into checks select 'rolled back', count(*), '5' from sale;
insert into checks select 'check was rolled back too', count(*), '0' from checks where name = 'inside';

-- Functions, procedures, triggers
create table log (entry text);
create function logged() returns trigger language plpgsql as $body$
begin
  insert into log values (old.amount || ';' || new.amount);
  return new;
end;
$body$;
create trigger logged after update on sale for each row execute function logged();
update sale set amount = 11 where region = 'north' and month = 1;
insert into checks select 'trigger', entry, '10;11' from log;
create function twice(n int) returns int return n * 2;
create procedure fill(n int) begin atomic insert into log select 'filled' from generate_series(1, n); delete from log where entry like '%;%'; end;
call fill(twice(2));
insert into checks select 'procedure', count(*), '4' from log;
do $$
begin
  perform 1 / 0;
exception when division_by_zero then
  insert into checks values ('exception', sqlstate, '22012');
end $$;

-- Upsert, merge, returning, generated columns, types
create type mood as enum ('sad', 'ok', 'happy');
create table counter (name text primary key, n int default 1, twice int generated always as (n * 2) stored, m mood default 'ok');
insert into counter(name) values ('a');
insert into counter(name) values ('a') on conflict (name) do update set n = counter.n + 1;
insert into checks select 'upsert', twice, '4' from counter;
merge into counter c using (values ('a', 9), ('b', 5)) as s(name, n) on c.name = s.name
  when matched then update set n = s.n when not matched then insert (name, n) values (s.name, s.n);
insert into checks select 'merge', string_agg(name || n, ',' order by name), 'a9,b5' from counter;
insert into checks select 'enum', 'happy'::mood > 'sad'::mood, 'true';
insert into checks select 'ranges', int4range(1, 5) * int4range(3, 9), '[3,5)';
insert into checks select 'uuid', length(gen_random_uuid()::text), '36';
insert into checks select 'numeric', 0.1::numeric + 0.2::numeric, '0.3';

-- Roles, the catalogs, extensions
create role reader;
grant select on sale to reader;
set role reader;
select count(*) as seen from sale;
reset role;
insert into checks select 'role', has_table_privilege('reader', 'sale', 'insert'), 'false';
insert into checks select 'information_schema', string_agg(column_name, ',' order by ordinal_position), 'region,month,amount'
  from information_schema.columns where table_name = 'sale';
insert into checks select 'user', current_user || '@' || current_database(), 'postgres@postgres';
insert into checks select 'plpgsql', extname, 'plpgsql' from pg_extension;

-- Indexes and statistics
create index on sale (region, amount);
analyze sale;
insert into checks select 'statistics', reltuples, '5' from pg_class where relname = 'sale';

select name, got, want from checks where got is distinct from want;
select count(*) as checks from checks;
